"""No credential of an object survives in any output of the program, from the object to what is written."""

import io
import json
from contextlib import redirect_stderr
from datetime import timedelta
from functools import cache
from itertools import count

import pytest
import structlog
from hypothesis import given

from reporter.cli import single_pass
from reporter.cli.rendering import OUTPUTS, view_of
from reporter.daemon import logs
from reporter.sinks.events.plan import events_of
from reporter.stacks.settings import FullDaemonSettings
from tests.credential_forms import BY_KEY, BY_SHAPE, PRIVATE_KEYS
from tests.hypothesis_profiles import examples
from tests.properties.test_credentials import leaks
from tests.unit.probes.building import (
    NOW,
    condition,
    healthy_cluster,
    healthy_harness,
    merged,
    snapshot_of,
)
from tests.unit.stacks.kaito.probes.kaito import (
    inferenceset,
    labels,
    model_pod,
    node,
    not_ready,
    workspace,
)

SETTINGS = FullDaemonSettings()
FORMS = len(BY_KEY) + len(BY_SHAPE) + len(PRIVATE_KEYS)


def broken(number, text):
    """A workload namespace whose Gateway says this, as does the container of a model in it."""
    name = f"ns{number}"
    said = f"mark{number} {text}"
    waits = {"waiting": {"reason": "CreateContainerConfigError", "message": said}}
    ended = {"terminated": {"reason": "Error", "exitCode": 1, "message": said}}
    here = {"metadata": {"namespace": name}}
    conditions = [condition("Accepted", "True"), condition("Programmed", "False", "Invalid", said)]
    refused = {"status": {"conditions": conditions}}
    unowned = labels(**{"kaito.sh/owned-by": None})
    return [
        *(
            merged(each, refused) if each["kind"] == "Gateway" else each
            for each in healthy_harness(name)
            if each["kind"] != "GatewayClass" or number == 0
        ),
        *(merged(each, here) for each in (inferenceset(), workspace("qwen-a", unowned), model_pod("qwen-a-0", not_ready(waits, lastState=ended)))),
    ]  # fmt: skip


def outputs(texts, settings_=SETTINGS):
    """What each output says of a cluster whose objects say these texts."""
    documents = [
        *healthy_cluster(),
        node(),
        *(each for number, text in enumerate(texts) for each in broken(number, text)),
    ]
    look = single_pass.CheckInput(snapshot=snapshot_of(*documents), now=NOW, about="a test")
    report = single_pass.evaluate_input(look, settings_, observed_for=timedelta(hours=1))
    view = view_of(report, look, SETTINGS)
    found = {name: view.text(name) for name in OUTPUTS}
    events = events_of(report, settings_)
    return {**found, "Events": json.dumps(events, ensure_ascii=False), "log": _logged(report)}


def _logged(report):
    with redirect_stderr(io.StringIO()) as out:
        logs.configure("info")
        logs.ChangeLog().note(report)
    structlog.reset_defaults()
    return out.getvalue()


@cache
def harmless():
    """The same outputs where the texts have no credential."""
    return outputs(["nothing"] * FORMS)


@pytest.mark.parametrize("output", ["text", "json", "events", "html", "Events", "log"])
def test_what_objects_say_is_in_each_output(output):
    """Else it would be no wonder that credentials are not."""
    said = harmless()[output]
    assert said.count("mark") >= (logs.LINES if output == "log" else 2 * FORMS)


@examples(0.1)
@given(leaks())
@pytest.mark.long
def test_no_credential_survives_in_any_output(found):
    """Neither in an Event, nor in the log, the report, the page or what `check` prints."""
    # A password may be made of the words around another one, such as AccountName.
    around = "\n".join(text.replace(secret, "\n") for secret, text in found)
    for output, said in outputs([text for _, text in found]).items():
        for (secret, text), number in zip(found, count()):
            for start in range(len(secret) - 5):
                piece = secret[start : start + 6]
                if piece in said and piece not in harmless()[output] and piece not in around:
                    pytest.fail(f"{output}: {piece!r} of {text!r} (mark{number})")
