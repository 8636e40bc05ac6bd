"""The settings of OtterScale."""

from functools import cached_property
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from reporter.setting_types import Allowed, words_of
from reporter.settings import EvaluationSettings
from reporter.stacks.otterscale.manifests.names import Given
from reporter.stacks.otterscale.operator_flags import FLAGS, given_of


def _flags_fit(flags: dict[str, str]) -> dict[str, str]:
    given_of(flags)
    return flags


OperatorFlags = Annotated[
    dict[str, str],
    BeforeValidator(words_of),
    AfterValidator(_flags_fit),
    Allowed(f"FLAG=VALUE, comma-separated, with {', '.join(FLAGS)}"),
]


class OtterscaleSettings(EvaluationSettings):
    """How OtterScale's model operator is set up."""

    otterscale_operator_flags: OperatorFlags = {}  # noqa: RUF012  # pydantic copies it
    """Flags that OtterScale's model operator runs with; drift from them is reported too."""

    otterscale_cluster_roles: bool = False
    """Read ClusterRoles and their bindings of endpoint pickers, and report one that is missing."""

    @cached_property
    def operator_given(self) -> Given:
        """The settings of OtterScale's operator that are given, by field."""
        return given_of(self.otterscale_operator_flags)
