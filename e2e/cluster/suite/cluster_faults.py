"""Faults as real controllers show them."""

import re

import pytest

from e2e.cluster.suite.faults import FAULTS, MODEL_PODS, named, put_in
from e2e.cluster.suite.story import fires, told_once, until
from lab.sandbox.objects import Object

MIRROR = "status-reporter.io/mirror"
READY = {"cluster": "clusterReady", "inferenceset": "inferencesetReady"}


def state_of_container(pod: Object) -> str:
    """Return the state of a pod's one container, with its reason."""
    for status in pod["status"].get("containerStatuses", []):
        for state, details in status["state"].items():
            return f"{state} {details.get('reason', '')}"
    return ""


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.replace(" ", "-"))
async def test_fault(installed, stage, models, observer, fault):
    """It is reported once, by its reason, each message says why, and Ready follows once."""
    key = (fault.key[0], named(fault.key[1], models))
    ready = READY[key[1].partition("/")[0]] if fault.ready else ""
    words = f"{fault.words}|{fault.first}" if fault.first else fault.words
    once = told_once(stage, observer, key, words, ready=ready)
    async with once as first, put_in(stage, fault, models):
        await fires(stage, key)
        if fault.first:
            await until(told_since(observer, first, key, fault.words), f"{fault.words} is told")
    own = [each.message for each in observer.versions[first:] if each.key == key]
    print(*dict.fromkeys(own), sep="\n")


def told_since(observer, first, key, words=""):
    """Return a check for an Event with some words that was written since a version."""

    async def told() -> bool:
        found = (each for each in observer.versions[first:] if each.key == key)
        return any(re.search(words, each.message) for each in found)

    return told


TURNING = [each for each in FAULTS if each.name in ("bad image", "crash loop")]
A_TURN = 2
"""How many states a pod passes through between two attempts."""


@pytest.mark.parametrize("fault", TURNING, ids=lambda fault: fault.name.replace(" ", "-"))
async def test_words_stay(installed, stage, models, observer, fault):
    """The kubelet gives a pod other states at each attempt; the message about it stays the same."""
    key = (fault.key[0], named(fault.key[1], models))
    states = [""]

    async def passes_through(count: int) -> None:
        async def enough() -> bool:
            pod = await stage.api.get("pods", f"{MODEL_PODS[2]}-0", namespace=models)
            if pod and (now := state_of_container(pod)) != states[-1]:
                states.append(now)
            return len(states) > count

        await until(enough, f"{count} states of the pod, of which there were {states}")

    async with told_once(stage, observer, key, fault.words, ready=READY["inferenceset"]):
        async with put_in(stage, fault, models):
            await fires(stage, key)
            await passes_through(2 * A_TURN)
            first = len(observer.versions)
            await passes_through(3 * A_TURN)
            # Each resync writes the Event again, unchanged.
            await until(told_since(observer, first, key), f"{key} is told again")
        told = {each.message for each in observer.versions[first:] if each.key == key and each.live}
        assert len(told) == 1


async def test_owner_sees_it(installed, stage, models, observer):
    """The namespace of a model has Events about its fault and its recovery."""
    (fault,) = (each for each in FAULTS if each.name == "name of no image")
    key = (fault.key[0], named(fault.key[1], models))

    async def mirrored(state: str) -> None:
        async def seen() -> bool:
            found = await stage.api.items("events", namespace=models, selector=f"{MIRROR}={state}")
            return any(each["reason"] == key[0] for each in found)

        await until(seen, f"{key[0]} is {state} in {models}")

    async with told_once(stage, observer, key, fault.words, ready=READY["inferenceset"]):
        async with put_in(stage, fault, models):
            await mirrored("firing")
        await mirrored("over")
