"""How the requests of some processes go: the first board to look at."""

from .board import REQUEST_LABELS, board
from .panels import INBOUND, ITS_ROUTE, drill_down, graph, number, thresholds, top
from .process import DESCRIPTORS_IN_USE
from .promql import (ACTIVE, CLIENT, DURATION, HOST, PROCESS, SERVED, SERVED_ACTIVE, active, apdex, by, counted,
                     error_share, quantile, rate, served_error_share)
from .versions import error_share_by_version

ERRORS = thresholds("green", (0.01, "yellow"), (0.05, "red"))
SECONDS = thresholds("green", (0.5, "yellow"), (1, "red"))
APDEX = thresholds("red", (0.7, "yellow"), (0.85, "green"))


def each(title, description, unit, query, steps=None, **options):
    """The same by client, by host and by template."""
    kinds = (("client", "client"), ("host", "server_address"), ("template", "url_template"))
    return [
        graph(f"{title} by {kind}", description, unit, (query(label), f"{{{{{label}}}}}"), width=8, steps=steps,
              link=drill_down(label), **options)
        for kind, label in kinds
    ]


def overview():
    now = [
        number("Requests", "Requests that ended, a second.", "reqps", counted(DURATION), decimals=1),
        number("Error share", "Without a response or with a 5xx. 4xx are no errors of the other side, and what the "
               "app cancelled counts on neither side.", "percentunit", error_share(), steps=ERRORS, decimals=2),
        number("p99", "One request in a hundred takes longer than this.", "s", quantile(0.99, DURATION),
               steps=SECONDS),
        number("Apdex", "Satisfied within 0.25 s, tolerating up to 1 s; an error counts as neither.", "none", apdex(),
               steps=APDEX, decimals=2),
        number("Active", "Requests that have started and not ended.", "short", active(ACTIVE, HOST)),
        number("Processes", "Processes that are scraped.", "short", f"count(session_tap_build_info{{{PROCESS}}})"),
    ]
    errors = each("Error share", "No response, or a 5xx.", "percentunit", error_share, steps=ERRORS)
    errors += [
        graph("Failures by kind", "error_type: the status for 4xx and 5xx, else what went wrong.", "reqps",
              (counted(DURATION, "error_type", where='error_type!=""'), "{{error_type}}"), stack=True),
        graph("Cancelled", "Requests that the app has cancelled: neither good nor bad.", "reqps",
              (f"{by('client')} ({rate('session_tap_cancelled_requests_total', CLIENT)})", "{{client}}")),
    ]
    errors.append(
        graph("Error share by version", "service_version of target_info (OTEL_RESOURCE_ATTRIBUTES): of each release that "
              "runs. None where the app does not say.", "percentunit", (error_share_by_version(), "{{service_version}}"),
              width=24, height=6, steps=ERRORS))
    inbound = [
        number("Served", "Requests that the app served and that ended, a second. Click for the board of these.", "reqps",
               counted(SERVED, labels=PROCESS), decimals=1, width=6, link=INBOUND),
        number("Failed", "Share of a 5xx or no whole response.", "percentunit", served_error_share(labels=PROCESS),
               steps=ERRORS, decimals=2, width=6, link=INBOUND),
        number("p99", "One request in a hundred takes longer to serve.", "s", quantile(0.99, SERVED, labels=PROCESS),
               steps=SECONDS, width=6, link=INBOUND),
        number("Active", "Requests that are being served.", "short", active(SERVED_ACTIVE, PROCESS), width=6,
               link=INBOUND),
        graph("Served by route", "Click a route for its board.", "reqps",
              (counted(SERVED, "http_route", labels=PROCESS), "{{http_route}}"), stack=True, link=ITS_ROUTE,
              width=24, height=6),
    ]
    durations = [
        graph("Duration", "From the start of loading to the last byte of the body. Diamonds are exemplars: click one "
              "for its trace.", "s", (quantile(0.5, DURATION), "p50"), (quantile(0.9, DURATION), "p90"),
              (quantile(0.99, DURATION), "p99"), steps=SECONDS, exemplars=True),
        graph("Apdex by client", "Satisfied within 0.25 s, tolerating up to 1 s.", "none",
              (apdex("client"), "{{client}}"), maximum=1, link=drill_down("client")),
    ]
    durations += each("p99", "One request in a hundred takes longer.", "s",
                      lambda label: quantile(0.99, DURATION, label), steps=SECONDS)
    return board(
        "session-tap-overview", "overview", "Rate, errors, duration and saturation of the requests that the app makes, and "
        "those that it serves in brief.",
        ("job", "instance", *REQUEST_LABELS),
        [
            ("Now", now),
            ("Rate", [
                *each("Requests", "Requests that ended.", "reqps", lambda label: counted(DURATION, label), stack=True),
                graph("Requests by status", "Those without a response have no status.", "reqps",
                      (counted(DURATION, "http_response_status_code"), "{{http_response_status_code}}"), stack=True),
                graph("Requests by method", "A method that is not known is _OTHER.", "reqps",
                      (counted(DURATION, "http_request_method"), "{{http_request_method}}"), stack=True),
            ]),
            ("Requests that the app serves", inbound),
            ("Errors", errors),
            ("Duration", durations),
            ("Slowest", [
                top("Slowest ten", "By p99.",
                    f"topk(10, {quantile(0.99, DURATION, 'client', 'server_address', 'url_template')})",
                    {"client": "Client", "server_address": "Host", "url_template": "Template"}, "s", value="p99"),
                top("Most time spent", "Ten that the app waits for most, all their requests together.",
                    f"topk(10, sum by (client, server_address, url_template) ({rate(DURATION + '_sum', HOST)}"
                    f" or histogram_sum({rate(DURATION, HOST)})))",
                    {"client": "Client", "server_address": "Host", "url_template": "Template"}, "s",
                    value="Seconds a second"),
            ]),
            ("Saturation", [
                graph("Active by client", "Requests under way. A session opens as many connections to a host as its "
                      "httpMaximumConnectionsPerHost says; further requests wait, and are active too.", "short",
                      (active(ACTIVE, HOST, "client"), "{{client}}"), width=8, link=drill_down("client")),
                graph("Active by host", "Requests under way.", "short",
                      (active(ACTIVE, HOST, "server_address", "server_port"), "{{server_address}}:{{server_port}}"),
                      width=8, link=drill_down("server_address")),
                graph("File descriptors in use", "Connections are among them: URLSession does not tell how many it "
                      "has open.", "percentunit", (DESCRIPTORS_IN_USE, "{{instance}}"), width=8,
                      steps=thresholds("green", (0.8, "red"))),
            ]),
        ])
