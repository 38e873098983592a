"""The consoles: panels of the boards, and what a single page needs besides."""

from .console import REQUEST_CHOICES, ROUTE_CHOICE, graph, number, page, shown, table
from .inbound import burnt, inbound
from .overview import overview
from .process import counted as counted_by_process
from .process import of, process
from .promql import (DURATION, ERROR, ERROR_SAYS, HOST, PROCESS, REQUEST_BODY, RESPONSE_BODY, ROUTE, SERVED,
                     SERVED_ERROR_SAYS, SERVED_REQUEST_BODY, SERVED_RESPONSE_BODY, alerts, error_share,
                     served_error_share, summed, total)
from .requests import requests
from .tap import tap
from .versions import by_version, error_share_by_version, since_start, versioned

ALERT = {"alertname": "Alert", "alertstate": "State"}
VERSION = {"service_version": "Version"}
ITS_VERSION = "{{service_version}}"
OF_A_VERSION = ("A version is service.version of OTEL_RESOURCE_ATTRIBUTES, by target_info. A process runs one version from its "
                "start to its end, so what it has counted is of that version; what processes counted that have ended is in "
                "the graphs alone.")


def consoles():
    """The text of each page by its name."""
    return {"session-tap": _requests(), "session-tap-inbound": _inbound(), "session-tap-releases": _releases(),
            "session-tap-processes": _processes()}


def _requests():
    board = overview()
    return page(
        ("", *shown(board, "Requests", "Error share", "p99", "Active", "Apdex", "Processes")),
        ("Rate", *shown(board, "Requests by client", "Requests by host", "Requests by template")),
        ("Errors", ERROR_SAYS,
            graph("Error share by client", "percentunit", (error_share("client"), "{{client}}"), (error_share(), "all")),
            *shown(board, "Failures by kind", "4xx by client", "Requests by status")),
        ("Duration", *shown(board, "Duration", "p99 by client", "p99 by host", "Slowest ten")),
        ("Alerts", table("Alerts", "short", alerts("client", "server_address"),
                         {**ALERT, "client": "Client", "server_address": "Host"})),
        ("Where the time goes", *shown(requests(), "Mean of a request by phase", "p99 by phase",
                                       "Responses in pieces", "Connections for each request")),
        ("Saturation",
            *shown(board, "Active by client", "Active by host", "Oldest active by client"),
            graph("Bytes", "Bps", (summed(REQUEST_BODY, labels=HOST), "sent"), (summed(RESPONSE_BODY, labels=HOST), "received"))),
        choices=REQUEST_CHOICES)


def _inbound():
    board = inbound()
    return page(
        ("", *shown(board, "Requests", "Error share", "p99", "Apdex", ("Active", "Active, all routes"),
                    ("Budget left", "Budget left, 3 days"))),
        ("Rate", *shown(board, "Requests by route", "Requests by status", "Requests by method")),
        ("Errors", SERVED_ERROR_SAYS,
            graph("Error share", "percentunit", (served_error_share(), "all")),
            *shown(board, "Error share by route", "Failures by kind", ("Callers' mistakes by route", "Callers' mistakes, 4xx")),
            graph("Abandoned by their callers", "reqps",
                  (total("session_tap_inbound_cancelled_requests_total", labels=PROCESS), "all routes")),
            graph("Budget burnt, times the objective", "short", *burnt("5m", "1h", "6h", "3d"))),
        ("Duration", *shown(board, "Duration", "p99 by route", "Mean by route", "Slowest ten")),
        ("Alerts", table("Alerts", "short", alerts("http_route", names="HTTPServer.*"), {**ALERT, "http_route": "Route"})),
        ("Load",
            graph("Bytes", "Bps", (summed(SERVED_REQUEST_BODY, labels=ROUTE), "received"),
                  (summed(SERVED_RESPONSE_BODY, labels=ROUTE), "sent")),
            *shown(board, "Active by method", "Oldest active", "Calls for each request")),
        choices=ROUTE_CHOICE)


def _releases():
    started = "process_start_time_seconds"
    info = f"target_info{{{PROCESS}}}"
    saying = f'target_info{{{PROCESS}, service_version!=""}}'
    columns = {"client": "Client", "server_address": "Host", "error_type": "Error"}
    served_columns = {"http_route": "Route", "error_type": "Error"}

    def errors(metric, columns):
        return f"{since_start(by_version(metric + '_count', *columns, where=ERROR))} > 0"

    return page(
        ("",
            number("Versions that run", "short", f"count(count by (job, service_version) ({info}))"),
            number("Processes that say theirs", "short", f"count({saying})"),
            number("Processes that do not", "short",
                   f"count(session_tap_build_info{{{PROCESS}}} unless on (job, instance) {saying}) or vector(0)", warn=1),
            number("Age of the youngest process", "dtdhms", f"time() - max({of(started)})")),
        ("Since the processes that run have started", OF_A_VERSION + " " + ERROR_SAYS,
            table("What runs", "short", f"count by (job, service_name, service_version) ({info})",
                  {"job": "Job", "service_name": "Service", **VERSION}, "Processes"),
            table("Age", "dtdhms", f"time() - min by (job, service_version) ({versioned(f'{started}{{{PROCESS}}}')})",
                  {"job": "Job", **VERSION}, "Oldest process"),
            table("Errors of requests that the app makes", "short", errors(DURATION, columns), {**VERSION, **columns}, "Requests"),
            table("Errors of requests that the app serves", "short", errors(SERVED, served_columns),
                  {**VERSION, **served_columns}, "Requests"),
            table("Error share, made", "percentunit", since_start(error_share_by_version()), VERSION, "Share"),
            table("Error share, served", "percentunit", since_start(error_share_by_version(SERVED)), VERSION, "Share")),
        ("Before and after",
            graph("Processes by version", "short", (f"count by (service_version) ({info})", ITS_VERSION), stack=True),
            *shown(overview(), ("Error share by version", "Error share, requests made")),
            *shown(inbound(), ("Error share by version", "Error share, requests served")),
            graph("Requests made", "reqps", (by_version(DURATION + "_count"), ITS_VERSION), stack=True),
            graph("Requests served", "reqps", (by_version(SERVED + "_count"), ITS_VERSION), stack=True),
            graph("Mean time, requests served", "s",
                  (f"{by_version(SERVED + '_sum')} / {by_version(SERVED + '_count')}", ITS_VERSION))))


def _processes():
    processes, health = process(), tap()
    samples = of("scrape_samples_scraped")
    return page(
        ("",
            *shown(overview(), "Processes"),
            *shown(health, "Targets down"),
            number("Slowest scrape", "s", f"max({of('scrape_duration_seconds')})", warn=1, bad=5),
            number("Series", "short", f"sum({samples})"),
            *shown(health, ("Series overflow", "Overflows, an hour"), ("Lines dropped", "Lines dropped, an hour"))),
        ("Processes",
            *shown(processes, ("CPU", "CPU, cores"), "Resident memory", "File descriptors in use"),
            graph("Received", "Bps", (counted_by_process("process_network_receive_bytes_total"), "{{instance}}")),
            graph("Sent", "Bps", (counted_by_process("process_network_transmit_bytes_total"), "{{instance}}")),
            *shown(processes, "Uptime")),
        ("SessionTap itself",
            *shown(health, "Scrapes by format", "Scrapes refused by reason", ("Lines by level", "Log lines by level"),
                   ("Lines dropped by reason", "Log lines dropped"), "Observer calls dropped", "Overdue handlers", "Requests not started", "Oldest not started", "Queue held",
                   "Unknown connections", "Versions"),
            table("Samples of a scrape", "short", f"topk(10, {samples})", {"job": "Job", "instance": "Instance"}, "Series")))
