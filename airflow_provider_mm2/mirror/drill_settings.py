"""The limits of a drill: the ``drill:`` block of a flow."""

from __future__ import annotations

from pydantic import Field, StrictInt

from airflow_provider_mm2.mirror.flow_values import FlowModel


class DrillSettings(FlowModel):
    """Limits of a drill, by which it passes or fails; None: no limit.

    :param lost: acknowledged records that are not on the target; None: none in a planned drill, any number in an
        unplanned one, where they must lie in the window that the failover tells.
    :param repeated: records that groups read again.
    :param skipped: records on the target that a group never read.
    :param reordered: records that a group read behind a later one.
    :param rpo_s: seconds from the oldest lost record to the cut.
    :param rto_s: seconds from the cut to the last group at work.
    """

    lost: StrictInt | None = Field(default=None, ge=0)
    repeated: StrictInt = Field(default=0, ge=0)
    skipped: StrictInt = Field(default=0, ge=0)
    reordered: StrictInt = Field(default=0, ge=0)
    rpo_s: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    rto_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)
