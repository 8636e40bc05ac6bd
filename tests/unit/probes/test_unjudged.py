"""One object that a probe fails on costs its own subject the judgement, and no other."""

from pathlib import Path

import reporter.probes
from reporter.model.finding import Evaluation
from reporter.model.subject import Subject
from reporter.probes import evaluate
from reporter.probes.reuse import Answered, Question, answer
from reporter.settings import EvaluationSettings
from reporter.snapshot.dump import load_dump

SETTINGS = EvaluationSettings()
EXAMPLES = Path(__file__).parents[3] / "examples"
BROKEN = load_dump([EXAMPLES / "broken-stack"]).snapshot
UNKNOWN = "clusterStatusUnknown"
ODD = "search-models"


def test_others_are_judged_and_the_failure_is_told(monkeypatch):
    """By a finding that names the subject and the place in our code, and no word of the object."""
    before = evaluate(BROKEN, SETTINGS)
    judge = reporter.probes.evaluate_inferencesets

    def failing(snapshot, settings, namespaces, samples):
        if namespaces[0].name == ODD:
            int("secret-of-the-object")
        return judge(snapshot, settings, namespaces, samples)

    monkeypatch.setattr(reporter.probes, "evaluate_inferencesets", failing)
    after = evaluate(BROKEN, SETTINGS)

    assert {each.subject.namespace for each in before.findings} > {ODD}
    others = [each for each in before.findings if each.subject.namespace != ODD]
    told = [each for each in after.findings if each.reason == UNKNOWN]
    assert [each for each in after.findings if each not in told] == others
    assert {each.subject.namespace for each in after.subjects} == {
        each.subject.namespace for each in before.subjects
    } - {ODD}
    (unjudged,) = after.unjudged
    assert unjudged.about == Subject.of_namespace(ODD)
    assert unjudged.cause.startswith("ValueError in reporter/probes/")
    (finding,) = told
    assert finding.related.name == ODD
    assert finding.message.startswith(f"namespace/{ODD} cannot be judged (ValueError in reporter/")
    assert "secret" not in finding.message


def test_a_question_that_fails_is_asked_again_when_its_objects_change():
    """And not before: an answer follows from what it rests on, a failure too."""
    asked = []
    subject = Subject.of_namespace("team")
    empty = Evaluation((), (), ())

    def failing():
        asked.append("failing")
        raise OverflowError

    one = (object(),)
    first = answer([Question(subject, (one,), failing)], (), Answered())
    (unjudged,) = first.answers[subject][1].unjudged
    assert unjudged.about == subject
    assert unjudged.cause.startswith("OverflowError in reporter/")
    again = answer([Question(subject, (one,), failing)], (), first)
    assert asked == ["failing"]
    mended = answer([Question(subject, ((object(),),), lambda: empty)], (), again)
    assert mended.answers[subject][1] == empty
