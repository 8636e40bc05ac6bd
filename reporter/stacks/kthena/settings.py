"""The settings of Kthena."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import model_validator

from reporter.setting_types import SettingError, StackMode, YamlSwitch
from reporter.settings import DaemonSettings
from reporter.stacks.kthena.reasons import STACK


class StatusOwnership(StrEnum):
    """How much of the status of ModelServings is ours to write."""

    OFF = "off"
    ROLES = "roles"
    FULL = "full"


class KthenaDaemonSettings(DaemonSettings):
    modelserving_status: Annotated[StatusOwnership, YamlSwitch] = StatusOwnership.OFF
    """What is written to the status of ModelServings: off, roles (roleStatuses only), or full."""

    @model_validator(mode="after")
    def _modelservings_are_looked_at(self) -> Self:
        writes = self.modelserving_status is not StatusOwnership.OFF
        if writes and self.stack(STACK) is StackMode.OFF:
            wanted = "kthena=auto or kthena=on, as --modelserving-status needs it"
            raise SettingError("stacks", wanted)
        return self
