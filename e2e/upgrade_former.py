"""From 0.2.0 to this release and back.

Both run as started by their charts; the code of the former release is that of its commit, with the
packages of this one.
"""

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from e2e.envtest.control_plane import control_plane
from e2e.stage import OURS, Installed
from tests.daemon.replica import LONG_LEASE, until

FORMER = "d828a858"
"""The commit of release 0.2.0."""

CHART = Path("helm", "productionstack-status-reporter")
ROOT = Path(__file__).resolve().parents[1]
KEDA = "clusterKedaNotReady"
BBR = ("clusterBBRNotReady", "cluster")
PULL = "inferencesetModelPodsNotReady"
MODEL = "llama-3-1-8b"
POD = f"{MODEL}-9t7dl-0"
VALUES = {"mirrorToWorkload": True}


@pytest.fixture(name="plane", scope="session")
def _plane(tmp_path_factory):
    """A separate control plane: each release needs rights that the other's chart does not grant."""
    with control_plane(tmp_path_factory.mktemp("plane")) as plane:
        yield plane


@pytest.fixture(name="former", scope="module")
def _former(tmp_path_factory):
    """The source tree of the former release."""
    folder = tmp_path_factory.mktemp("former")
    packed = subprocess.run(
        ["git", "archive", FORMER, "reporter", str(CHART)],
        cwd=ROOT, capture_output=True, check=True,
    )  # fmt: skip
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


async def uids(stage):
    """Return the uids of our Warnings and their mirrors, by namespace and name."""
    return {
        (each["metadata"]["namespace"], each["metadata"]["name"]): each["metadata"]["uid"]
        for each in await stage.api.items("events", selector=OURS)
        if each["type"] == "Warning"
    }


async def test_to_this_release_and_back(stage, workload, another, former):
    """Events keep their names, nothing is reported twice or lost, no flag is changed by hand."""
    release, _ = await another("upgrade", former / CHART, VALUES)

    async def start(name, code):
        daemon = Installed(release, name, code=code, **LONG_LEASE)
        started.append(daemon)
        return await (await daemon.start()).ready()

    started = []
    try:
        old = await start("replica-old", former)
        await until(old.leads, "the former release leads")
        await stage.stack.scale("kaito-system", "body-based-router", 0)
        await stage.stack.image_pull(workload, POD, fails=True)
        place = ("-n", "keda", "deployment", "keda-operator")
        stage.kubectl("annotate", *place, f"status-reporter.io/mute={KEDA}")
        await stage.stack.scale("keda", "keda-operator", 0)
        await stage.told(*BBR)
        await stage.told(PULL, f"inferenceset/{workload}/{MODEL}")
        before = await uids(stage)
        assert {key for key in await stage.firing() if key[1] == "cluster"} == {BBR}

        await release.install(ROOT / CHART, VALUES)
        new = await start("replica-new", None)
        assert await old.leads()
        await old.passes(5)
        await new.passes(5)
        assert await uids(stage) == before, "both at once tell nothing twice"

        await old.stop()
        await until(new.leads, "this release leads long before 300 s are over")
        await new.passes(3)
        assert {key for key in await stage.firing() if key[1] == "cluster"} == {BBR}
        assert await uids(stage) == before

        release.helm("rollback", release.name, "--namespace", release.namespace)
        again = await start("replica-again", former)
        await new.stop()
        await until(again.leads, "the former release leads again")
        await again.passes(3)
        assert await uids(stage) == before

        await stage.mend(workload)
        await stage.told(*BBR, state="over")
        await stage.told(PULL, f"inferenceset/{workload}/{MODEL}", state="over")
    finally:
        for each in started:
            await each.stop()
