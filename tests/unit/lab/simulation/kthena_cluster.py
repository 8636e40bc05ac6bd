"""A cluster in memory that carries out what the played controller plans."""

import copy
from itertools import count

from lab.simulation.kthena import ModelServingWorld, groups_of, plan
from lab.simulation.kthena_objects import is_deleting
from lab.simulation.objects import ControllerPlan, is_ready

VERSION = "workload.serving.volcano.sh/v1alpha1"
KINDS = {"Pod": "pods", "Service": "services", "PodGroup": "pod_groups"}


def role(name, replicas=1, workers=0, image="vllm:1"):
    """A role of which each pod has one container."""
    template = {"spec": {"containers": [{"name": "main", "image": image}]}}
    found = {"name": name, "replicas": replicas, "workerReplicas": workers}
    found["entryTemplate"] = template
    return {**found, "workerTemplate": copy.deepcopy(template)} if workers else found


def modelserving(roles, replicas=1):
    return {
        "apiVersion": VERSION,
        "kind": "ModelServing",
        "metadata": {"name": "m", "namespace": "models", "uid": "uid-m", "generation": 1},
        "spec": {"replicas": replicas, "template": {"roles": roles}},
    }


class Cluster:
    """Objects by kind and name. Pods terminate until `let_go`; everything else goes at once."""

    def __init__(self, owner, *, volcano=False):
        self.owner = owner
        self.volcano = volcano
        self.objects = {}
        self._uids = count(1)

    @property
    def world(self):
        by_kind = {kind: self.of(kind) for kind in ("Pod", "Service", "ControllerRevision")}
        return ModelServingWorld(
            self.owner,
            by_kind["Pod"],
            by_kind["Service"],
            self.of("PodGroup") if self.volcano else None,
            by_kind["ControllerRevision"],
        )

    def of(self, kind):
        return [each for (found, _), each in sorted(self.objects.items()) if found == kind]

    def names(self, kind="Pod", *, deleting=None):
        return [
            each["metadata"]["name"]
            for each in self.of(kind)
            if deleting is None or is_deleting(each) is deleting
        ]

    def reconcile(self):
        """Carry out one plan and return it."""
        made = plan(self.world)
        self.carry_out(made)
        return made

    def carry_out(self, made: ControllerPlan):
        for each in made.delete:
            key = each["kind"], each["metadata"]["name"]
            if each["kind"] == "Pod":
                self.objects[key]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            else:
                del self.objects[key]
        for each in made.create:
            key = each["kind"], each["metadata"]["name"]
            assert key not in self.objects, f"{key} is there already"
            each["metadata"]["uid"] = f"uid-{next(self._uids)}"
            self.objects[key] = each

    def lose(self, pod):
        del self.objects["Pod", pod]

    def let_go(self):
        """Let the pods that terminate be gone."""
        for name in self.names(deleting=True):
            self.lose(name)

    def start(self, *pods):
        """Let some pods, or all, be Ready."""
        for each in self.of("Pod"):
            if not pods or each["metadata"]["name"] in pods:
                each["status"] = {
                    "phase": "Running",
                    "conditions": [{"type": "Ready", "status": "True"}],
                }

    def settle(self):
        """Reconcile, terminate and start pods until nothing is left to be done."""
        for _ in range(100):
            made = self.reconcile()
            going = self.names(deleting=True)
            self.let_go()
            idle = all(map(is_ready, self.of("Pod")))
            self.start()
            if made.is_empty and not going and idle:
                return
        raise AssertionError("it never comes to rest")

    @property
    def groups(self):
        return {group.name: group for group in groups_of(self.world)}

    @property
    def revisions(self):
        return {
            each["metadata"]["name"]: each["metadata"]["labels"]["modelserving.volcano.sh/revision"]
            for each in self.of("Pod")
        }
