"""A cluster in memory that carries out what the played KServe and Knative plan."""

import copy
from itertools import count

from lab.sandbox.workloads import running_status
from lab.simulation.kserve import InferenceServiceWorld, plan
from lab.simulation.kserve_objects import condition_of, runs

NOW = "2026-11-20T12:00:00Z"


def inferenceservice(**predictor):
    model = {"modelFormat": {"name": "vllm"}, "storageUri": "s3://models/1"}
    return {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": "llm", "namespace": "models", "uid": "uid-0", "generation": 1},
        "spec": {"predictor": {"model": model, **predictor}},
    }


class Cluster:
    """One InferenceService and what is made for it; pods get the status that `fates` says."""

    def __init__(self, found):
        self.objects = {("InferenceService", "llm"): found}
        self.fates = {}
        self._uids = count(1)

    @property
    def inferenceservice(self):
        return self.objects["InferenceService", "llm"]

    @property
    def world(self):
        kinds = (self.of(each) for each in ("Service", "Revision", "Pod"))
        return InferenceServiceWorld(self.inferenceservice, *kinds)

    def of(self, kind):
        return [each for (found, _), each in sorted(self.objects.items()) if found == kind]

    def ask(self, **predictor):
        """Change the predictor's spec; None takes a field away."""
        spec = self.inferenceservice["spec"]["predictor"]
        spec.update(predictor)
        for key in [key for key, each in spec.items() if each is None]:
            del spec[key]

    def model(self, number):
        self.ask(model={"storageUri": f"s3://models/{number}"})

    def step(self):
        """Let everybody do one pass; tell whether there was something to do."""
        for pod in self.of("Pod"):
            name = pod["metadata"]["name"]
            fate = next((f for prefix, f in self.fates.items() if name.startswith(prefix)), runs)
            if fate is not None:
                pod["status"] = fate(running_status(pod, now=NOW, address="10.0.0.1"))
        wanted = plan(copy.deepcopy(self.world), NOW)
        for each in wanted.create:
            each["metadata"] |= {"uid": f"uid-{next(self._uids)}", "generation": 1}
        for each in (*wanted.create, *wanted.replace, *wanted.tell):
            place = each["kind"], each["metadata"]["name"]
            self.objects[place] = {**self.objects.get(place, {}), **each}
        for each in wanted.delete:
            del self.objects[each["kind"], each["metadata"]["name"]]
        return not wanted.is_empty

    def settle(self):
        """Return how many passes it took to come to rest."""
        return next(passes for passes in range(50) if not self.step())

    def condition(self, type_):
        return (condition_of(self.inferenceservice, type_) or {}).get("status")
