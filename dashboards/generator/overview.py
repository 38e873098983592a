"""How the requests of some processes go: the first board to look at."""

from .board import board
from .panels import INBOUND, ITS_ROUTE, drill_down, graph, number, quantiles, thresholds, top
from .process import DESCRIPTORS_IN_USE
from .promql import (ACTIVE, CLIENT, DURATION, ERROR, ERROR_SAYS, HOST, MISTAKE, MISTAKES_SAY, PROCESS, SERVED,
                     SERVED_ACTIVE, SERVED_ERROR_SAYS, active, apdex, counted, error_share, quantile, served_error_share, summed, total)
from .versions import VERSION_SAYS, error_share_by_version

ERRORS = thresholds("green", (0.01, "yellow"), (0.05, "red"))
SECONDS = thresholds("green", (0.5, "yellow"), (1, "red"))
APDEX = thresholds("red", (0.7, "yellow"), (0.85, "green"))
APDEX_SAYS = ("A request is satisfied within 0.25 s and tolerated within 1 s; one that failed or got a 4xx is neither. From recorded "
              "series, of all instances.")
NO_LINE = " No line where none has failed."
KINDS = {"client": "client", "host": "server_address", "template": "url_template"}
TABLE = {"client": "Client", "server_address": "Host", "url_template": "Template"}
SCORE = "job_client:http_client_apdex:rate5m"
CHOSEN_CLIENTS = 'job=~"$job", client=~"$client"'
APDEX_BY_CLIENT = f"{SCORE}{{{CHOSEN_CLIENTS}}}"


def each(title, description, unit, query, kinds, **options):
    """The same by client, by host or by template."""
    return [graph(f"{title} by {kind}", description, unit, (query(KINDS[kind]), f"{{{{{KINDS[kind]}}}}}"),
                  width=8 if len(kinds) == 1 else 12, link=drill_down(KINDS[kind]), **options) for kind in kinds]


def requests(*kinds):
    return each("Requests", "Requests that ended.", "reqps", lambda label: counted(DURATION, label, labels=HOST), kinds, stack=True)


def errors(*kinds):
    return each("Error share", ERROR_SAYS + NO_LINE, "percentunit", error_share, kinds, steps=ERRORS)


def slowest(*kinds):
    return each("p99", "One request in a hundred takes longer.", "s",
                lambda label: quantile(0.99, DURATION, label, labels=HOST), kinds, steps=SECONDS)


def overview():
    return board(
        "session-tap-overview", "overview", "Rate, errors, duration and saturation of the requests that the app makes, and "
        "those that it serves in brief.",
        ("job", "instance", "client", "host"),
        [
            ("Now", [
                number("Requests", "Requests that ended, a second.", "reqps", counted(DURATION, labels=HOST), decimals=1),
                number("Error share", ERROR_SAYS, "percentunit", error_share(), steps=ERRORS, decimals=2),
                number("p99", "One request in a hundred takes longer than this.", "s", quantile(0.99, DURATION, labels=HOST),
                       steps=SECONDS),
                number("Apdex", "Of all requests, and of the client that has the lowest. " + APDEX_SAYS, "none",
                       apdex(SCORE, "job_client:http_client_requests_judged:rate5m", CHOSEN_CLIENTS), steps=APDEX, decimals=2,
                       extreme=(f"bottomk(1, {APDEX_BY_CLIENT})", "lowest: {{client}}")),
                number("Active", "Requests that have started and not ended.", "short", active(ACTIVE, HOST)),
                number("Processes", "Processes that are scraped.", "short", f"count(session_tap_build_info{{{PROCESS}}})"),
                *requests("client"), *errors("client"), *slowest("client"),
            ]),
            ("Rate", [
                *requests("host", "template"),
                graph("Requests by status", "Those without a response have no status.", "reqps",
                      (counted(DURATION, "http_response_status_code", labels=HOST), "{{http_response_status_code}}"), stack=True),
                graph("Requests by method", "A method that is not known is _OTHER.", "reqps",
                      (counted(DURATION, "http_request_method", labels=HOST), "{{http_request_method}}"), stack=True),
            ]),
            ("Requests that the app serves", [
                number("Served", "Requests that the app served and that ended, a second. Click for the board of these.", "reqps",
                       counted(SERVED, labels=PROCESS), decimals=1, width=6, link=INBOUND),
                number("Failed", SERVED_ERROR_SAYS, "percentunit", served_error_share(labels=PROCESS), steps=ERRORS, decimals=2,
                       width=6, link=INBOUND),
                number("p99, served", "One request in a hundred takes longer to serve.", "s",
                       quantile(0.99, SERVED, labels=PROCESS), steps=SECONDS, width=6, link=INBOUND),
                number("Active, served", "Requests that are being served.", "short", active(SERVED_ACTIVE, PROCESS), width=6,
                       link=INBOUND),
                graph("Served by route", "Click a route for its board.", "reqps",
                      (counted(SERVED, "http_route", labels=PROCESS), "{{http_route}}"), stack=True, link=ITS_ROUTE,
                      width=24, height=6),
            ]),
            ("Errors", [
                *errors("host", "template"),
                graph("Failures by kind", "error_type: the status for a 5xx, else why there was no complete response.", "reqps",
                      (counted(DURATION, "error_type", labels=HOST, where=ERROR), "{{error_type}}"), stack=True, width=8),
                graph("4xx by client", MISTAKES_SAY, "reqps",
                      (counted(DURATION, "http_response_status_code", "client", labels=HOST, where=MISTAKE),
                       "{{http_response_status_code}} {{client}}"), stack=True, width=8, link=drill_down("client")),
                graph("Cancelled", "Requests that the app has cancelled: no errors.", "reqps",
                      (total("session_tap_cancelled_requests_total", "client", labels=CLIENT), "{{client}}"), width=8),
                graph("Error share by version", ERROR_SAYS + NO_LINE + VERSION_SAYS, "percentunit",
                      (error_share_by_version(), "{{service_version}}"), width=24, height=6, steps=ERRORS),
            ]),
            ("Duration", [
                quantiles("Duration", "From the start of loading to the last byte of the body. Diamonds are exemplars: click one "
                          "for its trace.", DURATION, HOST, steps=SECONDS),
                graph("Apdex by client", APDEX_SAYS, "none", (APDEX_BY_CLIENT, "{{client}}"), maximum=1,
                      link=drill_down("client")),
                *slowest("host", "template"),
            ]),
            ("Slowest", [
                top("Slowest ten", "By p99.", f"topk(10, {quantile(0.99, DURATION, *TABLE, labels=HOST)})", TABLE, "s",
                    value="p99"),
                top("Most time spent", "Ten that the app waits for most, all their requests together.",
                    f"topk(10, {summed(DURATION, *TABLE, labels=HOST)})", TABLE, "s", value="Seconds a second"),
            ]),
            ("Saturation", [
                graph("Active by client", "Active requests. A session opens as many connections to a host as its "
                      "httpMaximumConnectionsPerHost says; further requests wait, and are active too.", "short",
                      (active(ACTIVE, HOST, "client"), "{{client}}"), width=12, link=drill_down("client")),
                graph("Active by host", "Active requests.", "short",
                      (active(ACTIVE, HOST, "server_address", "server_port"), "{{server_address}}:{{server_port}}"),
                      width=12, link=drill_down("server_address")),
                graph("Oldest active by client", "Age of the oldest request that has started and not ended. If it grows by a "
                      "second a second, that request hangs.", "s",
                      (f"max by (client) (http_client_oldest_active_request_seconds{{{HOST}}})", "{{client}}"), width=12,
                      link=drill_down("client")),
                graph("File descriptors in use", "Connections are among them: URLSession does not tell how many it "
                      "has open.", "percentunit", (DESCRIPTORS_IN_USE, "{{instance}}"), width=12,
                      steps=thresholds("green", (0.8, "red"))),
            ]),
        ])
