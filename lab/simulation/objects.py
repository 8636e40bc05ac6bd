"""Kubernetes objects as the simulated controllers read and write them."""

from dataclasses import dataclass
from typing import Any, TypeAlias

Object: TypeAlias = dict[str, Any]
"""A Kubernetes object as JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerPlan:
    """What controllers do next.

    Attributes:
        delete: objects to delete, before others are created.
        create: new objects, without status.
        replace: objects with their new spec.
        tell: objects with their new status.

    """

    delete: tuple[Object, ...] = ()
    create: tuple[Object, ...] = ()
    replace: tuple[Object, ...] = ()
    tell: tuple[Object, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.delete or self.create or self.replace or self.tell)


def name_of(obj: Object) -> str:
    return str(obj["metadata"]["name"])


def labels_of(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}


def is_ready(pod: Object) -> bool:
    """True if a pod is ready: phase Running, and condition Ready True.

    Like both controllers, it does not look at deletionTimestamp, restarts or owner.
    """
    status = pod.get("status") or {}
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    return status.get("phase") == "Running" and conditions.get("Ready") == "True"


def owner_reference(owner: Object) -> Object:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": owner["metadata"].get("uid", ""),
        "controller": True,
        "blockOwnerDeletion": True,
    }
