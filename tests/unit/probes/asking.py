"""Helpers for running probes on a snapshot, with settings and samples."""

from reporter.metrics.samples.window import NONE
from reporter.probes.harness import Namespaces
from reporter.probes.scope import ComponentScope, NamespaceScope, Scope, joined
from reporter.stacks.kaito.probes import PROBES as KAITO
from reporter.stacks.kserve.probes import PROBES as KSERVE
from reporter.stacks.kthena.probes import PROBES as KTHENA
from reporter.stacks.llmisvc.probes import PROBES as LLMISVC


def asked(asks, of):
    """Ask all questions, without earlier answers."""
    return joined(question.ask(of) for question in asks.questions(of))


def scope(snapshot, settings, samples=NONE):
    """The scope of a probe of the cluster."""
    return Scope(snapshot=snapshot, settings=settings, samples=samples)


def namespace_scope(snapshot, settings, namespace):
    """The scope of a probe of a workload namespace."""
    return NamespaceScope(snapshot=snapshot, settings=settings, namespace=namespace)


def component_scope(snapshot, settings, component):
    """The scope of the probe of a shared Deployment."""
    return ComponentScope(snapshot=snapshot, settings=settings, component=component)


def evaluate_harness(snapshot, settings):
    """The evaluation of workload namespaces."""
    return asked(Namespaces(), scope(snapshot, settings))


def evaluate_inferencesets(snapshot, settings, samples=NONE):
    """The evaluation of InferenceSets."""
    return asked(KAITO.subjects, scope(snapshot, settings, samples))


def evaluate_modelservings(snapshot, settings, samples=NONE):
    """The evaluation of ModelServings."""
    return asked(KTHENA.subjects, scope(snapshot, settings, samples))


def evaluate_inferenceservices(snapshot, settings, samples=NONE):
    """The evaluation of InferenceServices."""
    return asked(KSERVE.subjects, scope(snapshot, settings, samples))


def evaluate_llminferenceservices(snapshot, settings, samples=NONE):
    """The evaluation of LLMInferenceServices."""
    return asked(LLMISVC.subjects, scope(snapshot, settings, samples))
