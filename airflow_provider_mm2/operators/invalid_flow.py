"""The task that stands for a flow which cannot run."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseOperator, Context

from airflow_provider_mm2.version_compat import AirflowFailException


class InvalidFlowOperator(BaseOperator):
    """Fail with what is wrong with a flow, at once and without a retry.

    :param problem: the message, which holds no values of the flow.
    """

    ui_color = "#f2d5d5"

    def __init__(self, *, problem: str, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "retries": 0})
        self.problem = problem

    def execute(self, context: Context) -> None:
        """Fail.

        :raises AirflowFailException: always, with the problem.
        """
        raise AirflowFailException(self.problem)
