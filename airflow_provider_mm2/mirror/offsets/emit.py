"""Which checkpoints are published: the points 5 and 6 of MirrorMaker 2's filter. Pure.

Points 1 to 4 (the topic is mirrored, the group has committed, the offset was translated, it does not lie before the
first record whose place is known) are answered by translation itself: it gives an offset or a reason. Then

5. the group has no checkpoint of the partition yet, or
6. it has moved on on the target, or gone back on the source.

So published target offsets only rise, although a later run may know less; only a group that was set back on the
source goes back on the target.

Source: MirrorMaker 2, ``MirrorCheckpointTask.checkpointsForGroup`` and ``checkpointIsMoreRecent``.
"""

from __future__ import annotations

from airflow_provider_mm2.mirror.offsets.checkpoint import Checkpoint


def is_due(new: Checkpoint, last: Checkpoint | None) -> bool:
    """Whether a checkpoint may follow the last one that was published.

    :param new: a checkpoint of the same group and partition.
    :param last: None where none was published yet.
    """
    if last is None:
        return True
    went_back_on_source = new.source_offset < last.source_offset
    moved_on_on_target = new.target_offset > last.target_offset
    return went_back_on_source or moved_on_on_target
