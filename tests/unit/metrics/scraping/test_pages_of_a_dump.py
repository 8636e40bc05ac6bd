"""The pages that `status-reporter dump --metrics` fetches through the API server."""

from aiohttp import web

from reporter.catalogue.resources import NODES, PODS
from reporter.cli.configure import load_settings
from reporter.cli.saved_pages import scrape, targets_of
from reporter.kube.collecting import Collection
from reporter.kube.discovery import Discovered
from reporter.snapshot.snapshot import Discovery, ResourceState, Served
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from tests.unit.kube.scripted import status
from tests.unit.metrics.scraping.servers import PAGE, target
from tests.unit.metrics.scraping.test_targets import CATALOGUE, at_address, node, subject

(INFERENCESETS, *_) = CATALOGUE.of_subject(INFERENCESET_KIND)


def asked(pods, subjects, nodes=(), servers=()):
    """The pods whose pages a dump asks for, where this is what was listed."""
    objects = {PODS: list(pods), INFERENCESETS: list(subjects), NODES: list(nodes)}
    collection = Collection(
        discovered=Discovered(Discovery(), {}),
        states={each: ResourceState(Served.SERVED) for each in objects},
        versions={},
        objects=objects,
        failures={},
    )
    return [each.name for each in targets_of(collection, load_settings({}), servers)]


def test_only_pods_of_subjects_that_exist_are_asked():
    """Anybody who may create a pod may give it the label."""
    pods = [at_address("10.0.0.7", "a-0")]
    assert asked(pods, [subject(INFERENCESET_KIND)]) == ["a-0"]
    assert asked(pods, [subject(INFERENCESET_KIND, "another")]) == []


def test_only_addresses_that_pods_may_have_are_asked():
    """As the daemon does: neither the API server, nor what is outside of the nodes' ranges."""
    pods = [at_address(f"10.0.0.{n}", f"{n}-0") for n in (6, 7, 8)]
    pods += [at_address("10.9.0.1", "9-0"), at_address("169.254.169.254", "metadata-0")]
    one = [subject(INFERENCESET_KIND)]
    assert asked(pods, one, [node("10.0.0.0/24")], ["10.0.0.8"]) == ["6-0", "7-0"]


async def test_each_pod_is_asked_and_one_that_does_not_answer_is_left_out(client_for):
    """A page that cannot be had says nothing, and costs no other."""

    async def handler(request: web.Request) -> web.Response:
        if "pod-0" in request.path:
            return web.Response(body=PAGE, content_type="text/plain")
        return status(503, "ServiceUnavailable", "error trying to reach service: EOF")

    targets = (target(), target(port=8123), target(name="pod-1"))
    async with client_for(handler) as client:
        pages = await scrape(client, targets, load_settings({}), seconds=1.0)
    assert [(each.namespace, each.pod, each.raw) for each in pages] == [("n", "pod-0", PAGE)] * 2
    assert all(each.seconds > 1_700_000_000 for each in pages)
