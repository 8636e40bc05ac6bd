"""The pages that `status-reporter dump --metrics` fetches through the API server."""

from aiohttp import web

from reporter.cli.configure import load_settings
from reporter.cli.saved_pages import scrape
from tests.unit.kube.scripted import status
from tests.unit.metrics.scraping.servers import PAGE, target


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
