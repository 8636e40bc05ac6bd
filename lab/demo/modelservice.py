"""The story of a ModelService: faults that its operator's phase does not show."""

from typing import Final

from lab.demo.otterscale import (
    DECODE,
    DEPLOYMENTS,
    NAME,
    NAMESPACE,
    PREFILL,
    OtterScale,
    modelservice,
)
from lab.demo.story import HEALTHY, Expected, Scene, Step, Story, StoryPace
from lab.sandbox.objects import JSON
from reporter.stacks.otterscale import reasons as m

_EPP: Final = f"{NAME}-epp"
_POD_MONITORS: Final = "podmonitors.monitoring.coreos.com"

_SUBJECT: Final = f"modelservice/{NAMESPACE}/{NAME}"
_READY: Final = Expected(m.READY, _SUBJECT, "the pods have no probes")
_UNPACK: Final = Expected(m.PODS, _SUBJECT, "init container model-unpack waits in CrashLoopBackOff")
_MISSING: Final = Expected(m.OBJECT_MISSING, _SUBJECT, f"Deployment {PREFILL} is missing")
_PICKER: Final = Expected(
    m.EPP, _SUBJECT, f"scaled to zero (Deployment {_EPP}); failureMode is FailClose"
)
_DRIFT: Final = Expected(m.DRIFT, _SUBJECT, f"PodMonitor {DECODE} differs: spec.selector")

_GRACED: Final = (m.OBJECT_MISSING, m.EPP, m.DRIFT)
"""Reasons whose own grace would make the story long; the demo shortens it."""


def _create(scene: Scene) -> None:
    otterscale = OtterScale.of(scene)
    otterscale.sandbox.create(modelservice())
    otterscale.make()


def _wrong_credentials(scene: Scene) -> None:
    OtterScale.of(scene).unpack(fails=True)


def _right_credentials(scene: Scene) -> None:
    OtterScale.of(scene).unpack(fails=False)


def _delete_prefill(scene: Scene) -> None:
    OtterScale.of(scene).sandbox.delete(DEPLOYMENTS, PREFILL, namespace=NAMESPACE)


def _reconcile(scene: Scene) -> None:
    OtterScale.of(scene).make()


def _picker_down(scene: Scene) -> None:
    scene.cluster.scale(NAMESPACE, _EPP, 0)


def _picker_up(scene: Scene) -> None:
    scene.cluster.scale(NAMESPACE, _EPP, 1)


def _drift(scene: Scene) -> None:
    labels: JSON = {"llm-d.ai/role": "prefill"}
    patch: JSON = {"spec": {"selector": {"matchLabels": labels}}}
    OtterScale.of(scene).sandbox.patch(_POD_MONITORS, DECODE, patch, namespace=NAMESPACE)


def _flags(pace: StoryPace) -> tuple[str, ...]:
    graces = ",".join(f"{reason}={pace.grace}" for reason in _GRACED)
    return (f"--grace={graces}", "--scrape-via=off")


_STEPS: Final = (
    HEALTHY,
    Step(
        f"kubectl apply of ModelService {NAME}: decode and prefill pods; its operator makes the rest.",
        _create,
        (_READY,),
    ),
    Step(
        "The registry no longer accepts the credentials of Secret registry, and a decode pod is "
        "replaced.",
        _wrong_credentials,
        (_UNPACK,),
    ),
    Step("The Secret is corrected.", _right_credentials, (_READY,), over=(_UNPACK,)),
    Step(
        f"kubectl -n {NAMESPACE} delete deployment {PREFILL}, and the operator does not get to "
        "recreate it: it counts it as no pods wanted.",
        _delete_prefill,
        (_MISSING,),
    ),
    Step("The operator comes and recreates it.", _reconcile, (_READY,), over=(_MISSING,)),
    Step(
        f"kubectl -n {NAMESPACE} scale deployment {_EPP} --replicas=0, and the operator does not "
        "get to revert it; its status never mentions the endpoint picker.",
        _picker_down,
        (_PICKER,),
    ),
    Step("It is scaled back.", _picker_up, (_READY,), over=(_PICKER,)),
    Step(
        "Somebody changes the selector of a PodMonitor, which the operator does not watch: worth "
        "knowing, and no fault.",
        _drift,
        (_DRIFT,),
    ),
)

MODELSERVICE: Final = Story(_flags, _STEPS, background=OtterScale)
