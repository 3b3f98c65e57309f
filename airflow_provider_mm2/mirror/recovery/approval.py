"""Step 6: the word of a person, and whether it is about the plan that is there."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_mm2.mirror.errors import PlanChanged
from airflow_provider_mm2.mirror.recovery.steps import Stage
from airflow_provider_mm2.mirror.recovery.work import Work, now_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What somebody has said of the plan.

    :param digest: of the plan that is approved; None: none was named.
    :param whatever: whatever the plan is, it is approved.
    :param by: who said so; None: whoever is at work.
    """

    digest: str | None = None
    whatever: bool = False
    by: str | None = None


def check_digest(work: Work, digest: str | None) -> None:
    """See that the failover is the one that somebody means.

    :param digest: of its plan; None: whichever it is.
    :raises PlanChanged: its plan is another one.
    """
    found = work.journal.failover.digest
    if digest is not None and digest != found:
        given = f"the digest given is {digest}, that of the plan is {found}"
        raise PlanChanged(flow=work.flow.name, differences=(given,), count=1)


def is_approved(work: Work, word: Word) -> bool:
    """Whether the plan is approved, now or before; an approval is recorded.

    :raises PlanChanged: the digest is not that of the plan.
    """
    check_digest(work, word.digest)
    if work.journal.failover.approved_by is not None:
        return True
    if word.digest is None and not word.whatever:
        return False
    work.journal.change(stage=Stage.RUNNING, approved_by=word.by or work.owner, approved_ms=now_ms())
    return True
