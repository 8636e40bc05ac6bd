"""What a tenant can read in the mirrors of its namespace, and how it may delay other mirrors."""

import asyncio
from dataclasses import replace

from reporter.catalogue.reasons import CLUSTER_NODE
from reporter.model.subject import ObjectRef
from reporter.resolution.message import SUPPRESSING
from reporter.sinks.mirror.plan import MirrorPlan, MirrorPurpose, MirrorWrite
from reporter.sinks.mirror.writer import MirrorWriter
from tests.attacks.attack import Outcome, attack, attacks
from tests.unit.probes.building import namespace, snapshot_of
from tests.unit.resolution.building import Resolver, finding
from tests.unit.sinks.mirror.building import EPP, GATEWAY, HARNESS, OBJECTS, fired, planned

_PODS = "inferencesetModelPodsNotReady"
_OURS = ("(suppressing downstream", "(also: ", "(node ")
_SECRET = "their-own-words"
_FOREIGN = replace(GATEWAY, namespace="infra", name="gw")
_SERVICE = ObjectRef("v1", "Service", "infra", _SECRET, "uid-s")


@attacks(
    {
        "a foreign Gateway's condition": fired(related=_FOREIGN, message=f"Gateway infra/gw: Programmed is False, {_SECRET}"),
        "who changed a foreign Gateway": fired(message=f"Gateway infra/gw is not programmed (changed by {_SECRET} at 11:58:00Z)"),
        "whether a foreign Service is there": fired(related=_SERVICE, message=f"{_SERVICE} does not exist"),
        "whose pods hold the devices": fired(message=f"pod llama-0: gpu-1 has no GPU left, infra/{_SECRET} holds 4"),
        "whose pods keep others away": fired(message=f"pod llama-0: pods that run there exclude it (infra/{_SECRET}: podAntiAffinity to a=b)"),
        "which pod of a driver fails": fired(message=f"pod llama-0: its pod infra/{_SECRET}-1.x there fails: no memory."),
        "where a claim of that name is": fired(message="pod llama-0: its claim c does not exist; namespace their-own-words has one of that name"),
        "the same of a namespace's own Gateway": fired(HARNESS, related=GATEWAY, message=f"Service infra/{_SECRET} is away"),
    }
)  # fmt: skip
def _(_folder, record):
    snapshot = snapshot_of(*OBJECTS, *map(namespace, ("infra", _SECRET)))
    mirrors = [each.mirror for each in planned(record, snapshot=snapshot).writes]
    told = [each for each in mirrors if _SECRET in f"{each.message} {each.related}"]
    return Outcome(held=not told, figure=f"{len(mirrors)} mirror(s), {len(told)} tell it")


@attack("images and paths are no pods of another namespace")
def _(_folder):
    """What a mirror may say of the model itself stays."""
    texts = ("vllm/vllm-openai:v0.9 is not found", "/models/llama is empty", "a.io/vllm/x@sha256:0")
    snapshot = snapshot_of(*OBJECTS, *map(namespace, ("vllm", "models")))
    told = [
        mirror.mirror.message
        for text in texts
        for mirror in planned(fired(message=text), snapshot=snapshot).writes
    ]
    return Outcome(
        held=told == [*texts], figure=f"{len(told)} mirrors, {len({*texts} & {*told})} tell all"
    )


async def _delays() -> dict[str, float]:
    """Write three mirrors of a namespace that takes half a second for each, and one of twenty others."""
    loop, took, done = asyncio.get_running_loop(), dict[str, float](), asyncio.Event()
    began = loop.time()

    class Api:
        async def apply_mirror(self, namespace, name, _body):
            await asyncio.sleep(0.5 if namespace == "slow" else 0.01)
            took[name] = loop.time() - began
            if len(took) == len(writes):
                done.set()

        async def patch_mirror(self, namespace, name, _patch):
            raise AssertionError((namespace, name))

    (sample,) = planned(fired()).writes

    def write(name, namespace):
        mirror = replace(sample.mirror, name=name, object=replace(EPP, namespace=namespace))
        return MirrorWrite(MirrorPurpose.TELL, mirror, sample.planned)

    writes = [write(f"slow-{number}", "slow") for number in range(3)]
    writes += [write(f"other-{number}", f"n{number}") for number in range(20)]
    writer = MirrorWriter(
        Api(), lambda: True, lambda _purpose, _outcome: None, events_wait=lambda: False
    )
    task = asyncio.create_task(writer.run())
    writer.offer(MirrorPlan(tuple(writes), frozenset(each.mirror.name for each in writes)))
    async with asyncio.timeout(20):
        await done.wait()
    task.cancel()
    return took


@attack("a namespace that takes long for each Event")
def _(_folder):
    took = asyncio.run(_delays())
    others = max(seconds for name, seconds in took.items() if name.startswith("other"))
    own = max(seconds for name, seconds in took.items() if name.startswith("slow"))
    figure = f"its own last one after {own:.2f} s, the last of 20 others after {others:.2f} s"
    return Outcome(held=others < 1 < own, figure=figure)


@attacks(
    {
        "a container's message that ends as ours do": f"x{SUPPRESSING}{_PODS})",
        "the same in capitals": f"x{SUPPRESSING.upper()}{_PODS})",
        "a message that says what else there is": f"x (also: {CLUSTER_NODE}: gone)",
        "a message that speaks for a node": "x (node a also explains everything)",
    }
)
def _(_folder, text):
    resolver = Resolver()
    resolver.look(0, finding(_PODS, exempt=True, message=text))
    told = resolver[_PODS].message
    return Outcome(held=not any(each in told.lower() for each in _OURS), figure=told)
