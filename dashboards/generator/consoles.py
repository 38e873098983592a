"""The consoles: panels of the boards, and what a single page needs besides."""

from .console import REQUEST_CHOICES, ROUTE_CHOICE, graph, number, page, shown, table
from .inbound import burnt, inbound, served
from .overview import overview
from .process import counted as counted_by_process
from .process import of, process
from .promql import (BAD, DURATION, PROCESS, REQUEST_BODY, RESPONSE_BODY, ROUTE, SERVED, SERVED_ACTIVE, SERVED_BAD,
                     SERVED_REQUEST_BODY, SERVED_RESPONSE_BODY, active, alerts, counted, error_share, rate,
                     served_error_share, summed)
from .requests import requests
from .tap import tap
from .versions import (INSTANCE, by_version, error_share_by_version, served_error_share_by_version, since_start,
                       versioned)

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
        ("", shown(board, "Now", "Requests", "Error share", "p99", "Active", "Apdex", "Processes")),
        ("Rate", shown(board, "Rate", "Requests by client", "Requests by host", "Requests by template")),
        ("Errors", [
            graph("Error share by client", "percentunit", (error_share("client"), "{{client}}"), (error_share(), "all")),
            *shown(board, "Errors", "Failures by kind"),
            *shown(board, "Rate", "Requests by status"),
        ]),
        ("Duration", [
            *shown(board, "Duration", "Duration", "p99 by client", "p99 by host"),
            *shown(board, "Slowest", "Slowest ten"),
            table("Alerts", "short", alerts("client", "server_address"),
                  {**ALERT, "client": "Client", "server_address": "Host"}),
        ]),
        ("Where the time goes", shown(requests(), "Where the time goes", "Mean of a request by phase", "p99 by phase",
                                      "On a reused connection")),
        ("Saturation", [
            *shown(board, "Saturation", "Active by client", "Active by host"),
            graph("Bytes", "Bps", (summed(REQUEST_BODY), "sent"), (summed(RESPONSE_BODY), "received")),
        ]),
        choices=REQUEST_CHOICES)


def _inbound():
    board = inbound()
    return page(
        ("", [
            *shown(board, "Now", "Requests", "Error share", "p99", "Apdex", ("Active", "Active, all routes")),
            *shown(board, "Availability: from recorded series, by job", ("Budget left", "Budget left, 3 days")),
        ]),
        ("Rate", shown(board, "Rate", "Requests by route", "Requests by status", "Requests by method")),
        ("Errors", [
            graph("Error share", "percentunit", (served_error_share(), "all")),
            *shown(board, "Errors", "Error share by route", "Failures by kind",
                   ("Callers' mistakes by route", "Callers' mistakes, 4xx")),
            graph("Abandoned by their callers", "reqps",
                  (f"sum ({rate('session_tap_inbound_cancelled_requests_total', PROCESS)})", "all routes")),
            graph("Budget burnt, times the objective", "short", *burnt("5m", "1h", "6h", "3d")),
        ]),
        ("Duration", [
            *shown(board, "Duration", "Duration", "p99 by route", "Mean by route", "Slowest ten"),
            table("Alerts", "short", alerts("http_route", names="HTTPServer.*"), {**ALERT, "http_route": "Route"}),
        ]),
        ("Load", [
            graph("Active by method", "short",
                  (active(SERVED_ACTIVE, PROCESS, "http_request_method"), "{{http_request_method}}"), stack=True),
            graph("Bytes", "Bps", (summed(SERVED_REQUEST_BODY, labels=ROUTE), "received"),
                  (summed(SERVED_RESPONSE_BODY, labels=ROUTE), "sent")),
            *shown(board, "Load", "Calls for each request"),
        ]),
        choices=ROUTE_CHOICE)


def _releases():
    started = "process_start_time_seconds"
    info = f"target_info{{{PROCESS}}}"
    saying = f'target_info{{{PROCESS}, service_version!=""}}'
    columns = {"client": "Client", "server_address": "Host", "error_type": "Error"}
    errors = by_version(counted(DURATION, *INSTANCE, *columns, where=BAD), *columns)
    served_columns = {"http_route": "Route", "error_type": "Error"}
    served_errors = by_version(served(*INSTANCE, *served_columns, where=SERVED_BAD), *served_columns)
    return page(
        ("", [
            number("Versions that run", "short", f"count(count by (job, service_version) ({info}))"),
            number("Processes that say theirs", "short", f"count({saying})"),
            number("Processes that do not", "short",
                   f"count(session_tap_build_info{{{PROCESS}}} unless on (job, instance) {saying}) or vector(0)", warn=1),
            number("Last start", "s", f"time() - max({of(started)})"),
        ]),
        ("Since the processes that run have started", [
            OF_A_VERSION,
            table("What runs", "short", f"count by (job, service_name, service_version) ({info})",
                  {"job": "Job", "service_name": "Service", **VERSION}, "Processes"),
            table("Since", "s", f"time() - min by (job, service_version) ({versioned(f'{started}{{{PROCESS}}}')})",
                  {"job": "Job", **VERSION}, "Oldest process"),
            table("Errors of requests that the app makes", "short", f"{since_start(errors)} > 0", {**VERSION, **columns},
                  "Requests"),
            table("Errors of requests that the app serves", "short", f"{since_start(served_errors)} > 0",
                  {**VERSION, **served_columns}, "Requests"),
            table("Error share, requests made", "percentunit", since_start(error_share_by_version()), VERSION, "Share"),
            table("Error share, requests served", "percentunit", since_start(served_error_share_by_version()), VERSION,
                  "Share"),
        ]),
        ("Before and after", [
            graph("Processes by version", "short", (f"count by (service_version) ({info})", ITS_VERSION), stack=True),
            *shown(overview(), "Errors", ("Error share by version", "Error share, requests made")),
            *shown(inbound(), "Errors", ("Error share by version", "Error share, requests served")),
            graph("Requests made", "reqps", (by_version(counted(DURATION, *INSTANCE)), ITS_VERSION), stack=True),
            graph("Requests served", "reqps", (by_version(served(*INSTANCE)), ITS_VERSION), stack=True),
            graph("Mean time, requests served", "s",
                  (f"{by_version(summed(SERVED, *INSTANCE, labels=ROUTE))} / {by_version(served(*INSTANCE))}", ITS_VERSION)),
        ]))


def _processes():
    processes, health = process(), tap()
    samples = of("scrape_samples_scraped")
    return page(
        ("", [
            *shown(overview(), "Now", "Processes"),
            *shown(health, "Now", "Targets down"),
            number("Slowest scrape", "s", f"max({of('scrape_duration_seconds')})", warn=1, bad=5),
            number("Series", "short", f"sum({samples})"),
            *shown(health, "Now", ("Series overflow", "Overflows, an hour"), ("Lines dropped", "Lines dropped, an hour")),
        ]),
        ("Processes", [
            *shown(processes, "Process", ("CPU", "CPU, cores"), "Resident memory", "File descriptors in use"),
            graph("Received", "Bps", (counted_by_process("process_network_receive_bytes_total"), "{{instance}}")),
            graph("Sent", "Bps", (counted_by_process("process_network_transmit_bytes_total"), "{{instance}}")),
            *shown(processes, "Process", "Uptime"),
        ]),
        ("SessionTap itself", [
            *shown(health, "Scrapes", "Scrapes by format"),
            *shown(health, "Log and observers", ("Lines by level", "Log lines by level"),
                   ("Lines dropped by reason", "Log lines dropped"), "Observer calls dropped", "Versions"),
            table("Samples of a scrape", "short", f"topk(10, {samples})", {"job": "Job", "instance": "Instance"}, "Series"),
        ]))
