"""A status as the API writes it."""

from collections.abc import Mapping
from typing import cast

import msgspec
from msgspec.structs import replace

from reporter.stacks.kserve.objects import InferenceServiceStatus, ModelStatus


def document_of(status: InferenceServiceStatus) -> dict[str, object]:
    """Return the fields of a status that are read, as KServe writes them.

    Those that are empty are left out, and 0 is a value; the model status has its own rules.
    """
    document = cast("dict[str, object]", _without_empty(msgspec.to_builtins(status)))
    if status.model_status is not None:
        document["modelStatus"] = _model_status(status.model_status)
    return document


def _model_status(status: ModelStatus) -> dict[str, object]:
    """Return a model status as Go writes it, by the field's `omitempty`.

    It is in KServe's pkg/apis/serving/v1beta1/inference_service_status.go, v0.20.0: the transition
    and the active state have none, and are there when they are empty; counts other than
    `failedCopies` are left out at 0.
    """
    pruned = _without_empty(msgspec.to_builtins(status))
    document = {"transitionStatus": status.transition_status, **cast("dict[str, object]", pruned)}
    if status.states is not None:
        states = cast("dict[str, object]", _without_empty(msgspec.to_builtins(status.states)))
        document["states"] = {"activeModelState": status.states.active_model_state, **states}
    if status.copies is not None and not status.copies.total_copies:
        document["copies"] = {"failedCopies": status.copies.failed_copies}
    if status.last_failure_info is not None and not status.last_failure_info.exit_code:
        failure = replace(status.last_failure_info, exit_code=None)
        document["lastFailureInfo"] = _without_empty(msgspec.to_builtins(failure))
    return document


def _without_empty(value: object) -> object:
    if isinstance(value, Mapping):
        pruned = {key: _without_empty(each) for key, each in value.items()}
        return {key: each for key, each in pruned.items() if not _is_empty(each)}
    if isinstance(value, (list, tuple)):
        return [_without_empty(each) for each in value]
    return value


def _is_empty(value: object) -> bool:
    return value in (None, "", [], {})
