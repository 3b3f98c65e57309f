"""The settings of one cluster as they come together: what is plain, what becomes an environment variable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_provider_mm2.mirror.clusters.config import is_secret
from airflow_provider_mm2.mirror.flow_values import Setting
from airflow_provider_mm2.mirror.mm2_import import reasons
from airflow_provider_mm2.mirror.mm2_import.findings import Findings, Given
from airflow_provider_mm2.mirror.mm2_import.values import environment_variable, is_provided, variables_in
from airflow_provider_mm2.mirror.mm2_import.variables import Variables

_SECRET = "what counts as a secret is never written into a flow"  # noqa: S105 - words of a message
_PROVIDED = "a config provider of Kafka Connect has the value"
_TEMPLATE = "the value is in an environment variable"


@dataclass(slots=True, kw_only=True)
class ClusterDraft:
    """A cluster's settings in the making.

    :param given: Java's keys without a role in front.
    """

    alias: str
    given: Mapping[str, Given]
    findings: Findings
    variables: Variables
    settings: dict[str, Setting] = field(default_factory=dict)

    def put(self, setting: str, given: Given, value: str | None = None, *, part: str = "the value of this key") -> None:
        """Set a librdkafka setting; a secret, or what a config provider has, becomes ``${NAME}``.

        :param value: what is set, where it is not the value of ``given`` as it stands.
        :param part: what that is called.
        """
        self.findings.use(given)
        text = (given.value if value is None else value).strip()
        variable = environment_variable(text)
        if variable is not None:
            self._refer(setting, given, variable, _TEMPLATE, part)
        elif is_secret(setting) or is_provided(text):
            name = self.variables.name(self.alias, setting, text)
            self._refer(setting, given, name, _PROVIDED if is_provided(text) else _SECRET, part)
        else:
            self.settings[setting] = text
            for name in variables_in(text):
                self._tell_variable(given, name, _TEMPLATE, "what it stands for")

    def put_variable(self, setting: str, given: Given, reason: reasons.Reason) -> None:
        """Set ``${NAME}`` for what cannot be taken from the file, and tell how to come by it."""
        name = self.variables.name(self.alias, setting, given.value)
        self.settings[setting] = f"${{{name}}}"
        self.findings.tell(given, reason.why, reason.instead.replace("NAME", name), cluster=self.alias)

    def tell(self, key: str, reason: reasons.Reason) -> None:
        """Tell of one of the keys, where it is given."""
        if key in self.given:
            self.findings.tell(self.given[key], *reason, cluster=self.alias)

    def _refer(self, setting: str, given: Given, variable: str, why: str, part: str) -> None:
        self.settings[setting] = f"${{{variable}}}"
        self._tell_variable(given, variable, why, part)

    def _tell_variable(self, given: Given, variable: str, why: str, part: str) -> None:
        instead = f"set {variable} where runs take place to {part}, or use connection: in place of settings:"
        self.findings.tell(given, why, instead, cluster=self.alias)
