"""Faults as real controllers show them."""

import re

import pytest

from e2e.cluster.suite.faults import FAULTS, MODEL_PODS, mend, named, put_in
from e2e.cluster.suite.story import all_is_well, calm, complaints, fires, ready_again, until
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
    ready = READY[key[1].partition("/")[0]]
    await calm(stage)
    first = len(observer.versions)
    before = await put_in(stage, fault, models)
    try:
        await fires(stage, key)
        if fault.first:
            await until(told_since(observer, first, key, fault.words), f"{fault.words} is told")
    finally:
        await mend(stage, fault, before, namespace=models)
    await all_is_well(stage)
    if fault.ready:
        await ready_again(observer, first, (ready, key[1]))
    for message in dict.fromkeys(
        each.message for each in observer.versions[first:] if each.key == key
    ):
        print(message)
    words = f"{fault.words}|{fault.first}" if fault.first else fault.words
    told = complaints(observer.versions[first:], key, words, ready=ready if fault.ready else "")
    assert told == []


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
    await calm(stage)
    beginning = len(observer.versions)
    key = (fault.key[0], named(fault.key[1], models))
    states = [""]

    async def passes_through(count: int) -> None:
        async def enough() -> bool:
            pod = await stage.api.get("pods", f"{MODEL_PODS[2]}-0", namespace=models)
            if pod and (now := state_of_container(pod)) != states[-1]:
                states.append(now)
            return len(states) > count

        await until(enough, f"{count} states of the pod, of which there were {states}")

    before = await put_in(stage, fault, models)
    try:
        await fires(stage, key)
        await passes_through(2 * A_TURN)
        first = len(observer.versions)
        await passes_through(3 * A_TURN)
        # Each resync writes the Event again, unchanged.
        await until(told_since(observer, first, key), f"{key} is told again")
    finally:
        await mend(stage, fault, before, namespace=models)
    told = {each.message for each in observer.versions[first:] if each.key == key and each.live}
    assert len(told) == 1
    await all_is_well(stage)
    await ready_again(observer, beginning, (READY["inferenceset"], key[1]))


async def test_owner_sees_it(installed, stage, models, observer):
    """The namespace of a model has Events about its fault and its recovery."""
    await calm(stage)
    first = len(observer.versions)
    (fault,) = (each for each in FAULTS if each.name == "name of no image")

    async def mirrored(state: str) -> None:
        async def seen() -> bool:
            found = await stage.api.items("events", namespace=models, selector=f"{MIRROR}={state}")
            return any(each["reason"] == fault.key[0] for each in found)

        await until(seen, f"{fault.key[0]} is {state} in {models}")

    before = await put_in(stage, fault, models)
    try:
        await mirrored("firing")
    finally:
        await mend(stage, fault, before, namespace=models)
    await mirrored("over")
    await all_is_well(stage)
    subject = named(fault.key[1], models)
    await ready_again(observer, first, (READY["inferenceset"], subject))
