"""Properties of mutes that hold for every sequence of passes."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from reporter.catalogue import resources as r
from reporter.model.objects import Annotations, Metadata, Namespace, Pod
from reporter.model.report import Disposition
from reporter.resolution import Memory, resolve
from reporter.sinks.events.plan import event_name
from reporter.snapshot.table import table_of
from reporter.stacks import BUILT_IN
from tests.properties.passes import Pass, findings, sequences, settings_
from tests.properties.reference_resolver import ReferenceResolver
from tests.properties.test_events import Writer
from tests.properties.test_resolution import essence

_NAMES = [each.name for each in BUILT_IN if not each.says_ready]


@st.composite
def muted_tables(draw, twins=()):
    """Objects of which some carry mutes, also for reasons that sequences are made of.

    Where there are twins, of one pod only, for theirs.
    """
    reasons = [each.reason for each in twins] or draw(
        st.lists(st.builds(lambda each: each.reason, findings()), max_size=5)
    )
    names = ",".join([*reasons, *draw(st.lists(st.sampled_from(_NAMES), max_size=2))])
    places = draw(
        st.sampled_from((frozenset({"n/p"}), frozenset({"n/q"})))
        if twins
        else st.frozensets(st.sampled_from(("a", "b", "n", "n/p", "n/q")), min_size=1)
    )
    annotations = Annotations(mute=names)
    namespaces = [
        Namespace(metadata=Metadata(name=each, annotations=annotations if each in places else None))
        for each in "abn"
    ]
    pods = [
        Pod(metadata=Metadata(name=each, namespace="n", annotations=annotations))
        for each in "pq"
        if f"n/{each}" in places
    ]
    return {r.NAMESPACES: table_of(namespaces), r.PODS: table_of(pods)}


def run(passes, settings, tables):
    """Return the resolution of each pass over a cluster that holds these objects."""
    memory, found = Memory(), []
    for each in passes:
        snapshot = replace(each.snapshot, tables=tables)
        resolution = resolve(each.evaluation, snapshot, memory, now=each.now, settings=settings)
        memory = resolution.memory
        found.append(resolution)
    return found


@given(sequences(troubled=False), settings_(), muted_tables())
def test_nothing_that_is_muted_is_told_and_nothing_is_hidden(passes: list[Pass], settings, tables):
    """What fires names a fault that nobody mutes; every fault that is seen is in the report."""
    for given_, resolution in zip(passes, run(passes, settings, tables), strict=True):
        report = resolution.report
        muting = {mute.object: set(mute.reasons) for mute in report.mutes}
        for each in report.findings:
            if each.disposition is Disposition.MUTED:
                assert each.mutes
            if each.disposition is Disposition.FIRING:
                places = (each.related.name, each.subject.namespace or each.related.namespace)
                muted = {
                    name
                    for ref, reasons in muting.items()
                    if (ref.kind, ref.name) in {("Pod", places[0]), ("Namespace", places[1])}
                    for name in reasons
                }
                assert each.reason not in muted
        seen = {each.key for each in given_.evaluation.findings if not each.sustains}
        assert seen <= {each.key for each in report.findings}


@given(sequences(troubled=False), settings_(), muted_tables())
def test_a_mute_tells_no_symptom(passes: list[Pass], settings, tables):
    """What would be suppressed by a cause is not told because that cause is muted."""
    without = run(passes, settings, {})
    for before, after in zip(without, run(passes, settings, tables), strict=True):
        suppressed = {
            each.key
            for each in before.report.findings
            if each.disposition is Disposition.SUPPRESSED
        }
        told = {
            each.key for each in after.report.findings if each.disposition is Disposition.FIRING
        }
        assert not suppressed & told


@st.composite
def mutes_that_change(draw, *, jumps=True):
    """Passes whose objects carry mutes, and other ones for a while.

    In half of them each fault has a twin that does not go, which is muted or of a muted pod.
    """
    passes = draw(sequences(jumps=jumps))
    pool = {each.message: each for one in passes for each in one.evaluation.findings}
    twins = [_twin(each) for each in pool.values()] if draw(st.booleans()) else []
    first, second = draw(muted_tables(twins)), draw(muted_tables())
    change = draw(st.integers(0, len(passes)))
    again = draw(st.integers(change, len(passes)))
    found = []
    for number, each in enumerate(passes):
        there = {known.subject for known in each.evaluation.subjects}
        seen = (*each.evaluation.findings, *(one for one in twins if one.subject in there))
        tables = second if change <= number < again else first
        snapshot = replace(each.snapshot, tables=tables)
        found.append(Pass(replace(each.evaluation, findings=seen), snapshot, each.now))
    return found


def _twin(finding):
    """Return the same fault of the other pod."""
    name = "q" if finding.related.name == "p" else "p"
    return replace(finding, related=replace(finding.related, name=name), sustains=False)


def run_changing(passes, settings):
    """Return the resolution of each pass, each with the objects of its own snapshot."""
    memory, found = Memory(), []
    for each in passes:
        resolution = resolve(
            each.evaluation, each.snapshot, memory, now=each.now, settings=settings
        )
        memory = resolution.memory
        found.append(resolution)
    return found


@given(mutes_that_change(), settings_())
def test_the_rules_are_kept(passes: list[Pass], settings):
    """Also where mutes come and go, and what they say cannot be read."""
    reference = ReferenceResolver()
    for number, (given_, resolution) in enumerate(
        zip(passes, run_changing(passes, settings), strict=True)
    ):
        muted = {
            (mute.object.kind, mute.object.name, name)
            for mute in resolution.report.mutes
            for name in mute.reasons
        }

        def is_muted(key, related, muted=muted):
            namespace = key.subject.namespace or related.namespace
            places = (("Pod", related.name), ("Namespace", namespace))
            return any((*place, key.reason) in muted for place in places)

        wanted = reference.resolve(
            given_.evaluation, given_.snapshot, given_.now, settings=settings, is_muted=is_muted
        )
        found = sorted(essence(each.key, each) for each in resolution.report.findings)
        expected = sorted(essence(key, row) for key, row in wanted.items())
        assert found == expected, f"pass {number}"


def _names(report, *dispositions):
    return {
        event_name(each.key, each.since)
        for each in report.findings
        if each.disposition in dispositions and not each.stale
    }


@given(mutes_that_change(jumps=False), settings_())
def test_a_restart_tells_no_muted_fault(passes: list[Pass], settings):
    """What is seen, and muted on record, stays muted in the same episode."""
    writer = Writer(settings)
    for given_ in passes:
        report = writer.look(given_)
        seen = {each.key for each in given_.evaluation.findings if not each.sustains}
        muted = {
            each.key: each.since
            for each in report.findings
            if each.disposition is Disposition.MUTED
            and each.key in seen
            and event_name(each.key, each.since) in writer.store.events
        }
        writer.memory = Memory()
        after = {
            each.key: each.since
            for each in writer.look(given_).findings
            if each.disposition is Disposition.MUTED
        }
        assert muted.items() <= after.items()
