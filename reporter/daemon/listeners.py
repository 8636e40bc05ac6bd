"""What the daemon serves, and where."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import structlog

from reporter.daemon.connections import Connection
from reporter.daemon.live_page import LivePage
from reporter.daemon.metrics_access import MetricsAccess
from reporter.daemon.page_routes import with_page
from reporter.daemon.server import (
    Handler,
    ListenAddress,
    MetricsPage,
    Pages,
    Probes,
    Servers,
    health_routes,
    report_routes,
)
from reporter.daemon.state import DaemonState
from reporter.settings import DaemonSettings
from reporter.sinks.own_metrics import LiveMetrics
from reporter.sinks.subject_metrics import SubjectMetrics


@asynccontextmanager
async def listening(
    settings: DaemonSettings, connection: Connection, state: DaemonState, *, page: LivePage
) -> AsyncIterator[None]:
    """Serve metrics, health, the report and the page while entered.

    Raises:
        UsageError: an address cannot be used.

    """
    report_address = ListenAddress.parse("report-bind-address", settings.report_bind_address)
    if report_address is not None:
        report_address = replace(report_address, names=settings.report_hosts)
    metrics_address = ListenAddress.parse("metrics-bind-address", settings.metrics_bind_address)
    health_address = ListenAddress.parse(
        "health-probe-bind-address", settings.health_probe_bind_address
    )
    pages = Pages(state.report_json, state.report_text, state.pod_json, state.pod_text)
    probes = Probes(unhealthy=state.unhealthy, not_ready=state.not_ready)
    async with Servers(before_close=page.close) as servers, AsyncExitStack() as stack:
        of_subjects = SubjectMetrics(state.report, settings.subject_series)
        exported = MetricsPage(LiveMetrics(connection.metrics, state), of_subjects, state.report)
        stack.callback(exported.close)
        serve: Handler = exported.serve
        if settings.metrics_authentication:
            serve = MetricsAccess(connection.client).guarded(serve)
        await _listen(servers, metrics_address, {"/metrics": serve})
        await _listen(servers, health_address, health_routes(probes))
        routes = with_page(report_routes(pages, report_address), page, report_address)
        await _listen(servers, report_address, routes)
        yield


async def _listen(
    servers: Servers, address: ListenAddress | None, routes: Mapping[str, Handler]
) -> None:
    port = await servers.listen(address, routes)
    if address is not None and port is not None:
        # The port is the system's choice where the setting says 0.
        structlog.get_logger("daemon").info(
            "listening", setting=address.setting, address=str(replace(address, port=port))
        )
