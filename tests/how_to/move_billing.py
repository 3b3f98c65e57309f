"""A DAG that moves one consumer group, as docs/how-to/groups.md shows it."""

from __future__ import annotations

from airflow.sdk import DAG

from airflow_provider_mm2.operators.groups import SyncGroupOffsetsOperator
from airflow_provider_mm2.operators.mirror import MirrorIntervalOperator
from airflow_provider_mm2.sensors.groups import GroupCaughtUpSensor, GroupLeftSourceSensor
from airflow_provider_mm2.sensors.mirror import MirroredThroughSensor, MirrorLagSensor

with DAG("move_billing", schedule=None, params={"quiet_s": 60}) as dag:
    stopped = GroupLeftSourceSensor(
        task_id="stopped", flow="orders", group="billing", for_s="{{ params.quiet_s }}", deferrable=True
    )
    mirror = MirrorIntervalOperator(task_id="mirror", flow="orders")
    mirrored = MirroredThroughSensor(task_id="mirrored", flow="orders", deferrable=True)
    nothing_left = MirrorLagSensor(task_id="nothing_left", flow="orders", below=1, deferrable=True)
    offsets = SyncGroupOffsetsOperator(task_id="offsets", flow="orders", sync_group_offsets=True)
    caught_up = GroupCaughtUpSensor(
        task_id="caught_up", flow="orders", group="billing", mode="reschedule", poke_interval=60, timeout=3600
    )
    stopped >> mirror >> [mirrored, nothing_left] >> offsets >> caught_up
