"""The requests that the app serves: what its callers get, by route."""

from .board import board
from .overview import APDEX, APDEX_SAYS, ERRORS, NO_LINE, SECONDS
from .panels import ITS_ROUTE, graph, heat, number, quantiles, thresholds, top
from .promql import (CALL_SECONDS, CALLS, PROCESS, ROUTE, SERVED, SERVED_ACTIVE, SERVED_ERROR_SAYS,
                     SERVED_REQUEST_BODY, SERVED_RESPONSE_BODY, SERVED_UPSTREAM, active, apdex, counted, mean, quantile,
                     served_error_share, summed, total)
from .versions import VERSION_SAYS, error_share_by_version

EACH = ("http_request_method", "url_scheme", "http_route", "http_response_status_code", "error_type")
NAMES = {"http_request_method": "Method", "url_scheme": "Scheme", "http_route": "Route",
         "http_response_status_code": "Status", "error_type": "Error"}
OBJECTIVE = "session_tap:slo_inbound_objective:ratio"
BUDGET = "scalar(session_tap:slo_inbound_budget:ratio)"
BAD = "job:http_server_requests_bad:"
WINDOWS = ("5m", "30m", "1h", "2h", "6h", "1d", "3d")
JOB = 'job=~"$job"'
SCORE = "job:http_server_apdex:rate5m"
ITS_APDEX = f"{SCORE}{{{JOB}}}"
OBJECTIVE_SAYS = " The objective leaves out what the caller abandoned."
CALLED = {"http_route": "Route", "client": "Client"}
ROUTED = "What no route matched has none."


def served(*group, where=""):
    return counted(SERVED, *group, labels=ROUTE, where=where)


def upstream(metric):
    """Of the calls within served requests, by route and client, for each request of the route."""
    calls = total(metric, "http_route", "client", labels=ROUTE, where='otel_metric_overflow=""')
    return f"{calls} / on (http_route) group_left () {served('http_route')}"


def burnt(*windows):
    """How many times faster than the objective allows the worst job burns its budget, by window."""
    return [(f"max({BAD}ratio_rate{window}{{{JOB}}}) / {BUDGET}", window) for window in windows]


def inbound():
    route = "{{http_route}}"
    return board(
        "session-tap-inbound", "inbound", "The requests that the app serves, by route: rate, errors, duration, sizes and "
        "the objective. Empty for an app that records none.",
        ("job", "instance", "route"),
        [
            ("Now", [
                number("Requests", "Requests that ended, a second.", "reqps", served(), decimals=1),
                number("Error share", SERVED_ERROR_SAYS, "percentunit", served_error_share(), steps=ERRORS, decimals=2),
                number("p99", "One request in a hundred takes longer than this.", "s",
                       quantile(0.99, SERVED, labels=ROUTE), steps=SECONDS),
                number("Apdex", "Of all requests, and of the job that has the lowest. " + APDEX_SAYS, "none",
                       apdex(SCORE, "job:http_server_requests_judged:rate5m", JOB), steps=APDEX, decimals=2,
                       extreme=(f"bottomk(1, {ITS_APDEX})", "lowest: {{job}}")),
                number("Active", "Requests that are being served, of all routes: which one it is, the end says.", "short",
                       active(SERVED_ACTIVE, PROCESS)),
                number("Unbalanced", "Requests started less ended less active: 0 at every scrape.", "short",
                       f"sum(session_tap_inbound_started_requests_total{{{PROCESS}}})"
                       f" - sum(session_tap_inbound_ended_requests_total{{{PROCESS}}})"
                       f" - sum({SERVED_ACTIVE}{{{PROCESS}}})",
                       steps=thresholds("red", (-0.5, "green"), (0.5, "red"))),
                graph("Requests by route", ROUTED, "reqps", (served("http_route"), route), stack=True, link=ITS_ROUTE, width=8),
                graph("Error share by route", SERVED_ERROR_SAYS + NO_LINE, "percentunit",
                      (served_error_share("http_route"), route), steps=ERRORS, link=ITS_ROUTE, width=8),
                graph("p99 by route", "One request in a hundred takes longer.", "s",
                      (quantile(0.99, SERVED, "http_route", labels=ROUTE), route), steps=SECONDS, link=ITS_ROUTE, width=8),
            ]),
            ("Availability: from recorded series, by job", [
                number("Objective", "The share of requests that has to be good. It stands in rules/slo.yml.",
                       "percentunit", OBJECTIVE, decimals=2),
                number("Budget left", "Of the error budget of the last three days, by the worst job." + OBJECTIVE_SAYS, "percentunit",
                       f"1 - max({BAD}ratio_rate3d{{{JOB}}}) / {BUDGET}",
                       steps=thresholds("red", (0, "yellow"), (0.25, "green"))),
                graph("Budget burnt", "How many times faster than the objective allows, by window: 14.4 over an hour and five "
                      "minutes is a page, 1 over three days and six hours a ticket.", "short",
                      *burnt(*WINDOWS), width=16, steps=thresholds("green", (1, "yellow"), (14.4, "red"))),
                graph("Availability", "1 - errors by requests, over an hour and over three days." + OBJECTIVE_SAYS,
                      "percentunit", (f"1 - {BAD}ratio_rate1h{{{JOB}}}", "{{job}} 1 h"),
                      (f"1 - {BAD}ratio_rate3d{{{JOB}}}", "{{job}} 3 d"), width=24, maximum=1, height=6),
            ]),
            ("Rate", [
                graph("Requests by status", "Those that broke off before the head have no status.", "reqps",
                      (served("http_response_status_code"), "{{http_response_status_code}}"), stack=True),
                graph("Requests by method", "A method that is not known is _OTHER.", "reqps",
                      (served("http_request_method"), "{{http_request_method}}"), stack=True),
                graph("Started and ended", "What has started and not ended is active. Of all routes.", "reqps",
                      (total("session_tap_inbound_started_requests_total", labels=PROCESS), "started"),
                      (total("session_tap_inbound_ended_requests_total", labels=PROCESS), "ended"),
                      (total("session_tap_inbound_cancelled_requests_total", labels=PROCESS),
                       "of them abandoned by their callers")),
            ]),
            ("Errors", [
                graph("Failures by kind", "error_type: the status for 5xx, else why there was no complete response.", "reqps",
                      (served("error_type", where='error_type!=""'), "{{error_type}}"), stack=True),
                graph("Callers' mistakes by route", "4xx: no errors of this app.", "reqps",
                      (served("http_route", "http_response_status_code", where='http_response_status_code=~"4.."'),
                       "{{http_response_status_code}} {{http_route}}"), stack=True),
                graph("Error share by version", SERVED_ERROR_SAYS + NO_LINE + VERSION_SAYS, "percentunit",
                      (error_share_by_version(SERVED), "{{service_version}}"), steps=ERRORS),
            ]),
            ("Duration", [
                heat("Duration", "s", SERVED, ROUTE),
                quantiles("Duration", "From the begin to the end of the response.", SERVED, ROUTE, steps=SECONDS),
                graph("Mean by route", ROUTED, "s", (mean(SERVED, "http_route", labels=ROUTE), route), link=ITS_ROUTE),
                graph("Apdex by job", APDEX_SAYS, "none", (ITS_APDEX, "{{job}}"), maximum=1),
                top("Slowest ten", "By p99.", f"topk(10, {quantile(0.99, SERVED, 'http_route', labels=ROUTE)})",
                    {"http_route": "Route"}, "s", value="p99"),
                top("Most time spent", "Ten that the app spends most time on, all their requests together.",
                    f"topk(10, {summed(SERVED, 'http_route', labels=ROUTE)})", {"http_route": "Route"}, "s",
                    value="Seconds a second"),
            ]),
            ("Whose time", [
                graph("Upstream share by route", "Of the time of its requests, that in which at least one request that the app made "
                      "within them was active. The rest is the app's own.", "percentunit",
                      (f"{summed(SERVED_UPSTREAM, 'http_route', labels=ROUTE)} / {summed(SERVED, 'http_route', labels=ROUTE)}",
                       route), maximum=1, link=ITS_ROUTE),
                quantiles("Upstream time", "Of the requests within which the app made others.", SERVED_UPSTREAM, ROUTE,
                          steps=SECONDS),
                graph("Calls for each request", "Requests that the app makes by those that it serves, by route and client: many "
                      "are a loop around a call.", "short", (upstream(CALLS), "{{client}} {{http_route}}")),
                top("Waited for", "Seconds of calls for each request of the route. Parallel calls add up to more than its duration.",
                    f"topk(10, {upstream(CALL_SECONDS)})", CALLED, "s", value="Seconds a request"),
            ]),
            ("Load", [
                graph("Active by method", "Requests that are being served.", "short",
                      (active(SERVED_ACTIVE, PROCESS, "http_request_method"), "{{http_request_method}}"), stack=True),
                graph("Oldest active", "Age of the oldest request that is being served.", "s",
                      (f"max by (http_request_method) (http_server_oldest_active_request_seconds{{{PROCESS}}})",
                       "{{http_request_method}}")),
                top("All of them", "Requests a second by all of their labels.", served(*EACH), NAMES, "reqps",
                    value="Requests a second", width=24),
            ]),
            ("Sizes", [
                graph("Received by route", "Bytes of request bodies whose size is known.", "Bps",
                      (summed(SERVED_REQUEST_BODY, "http_route", labels=ROUTE), route), stack=True),
                graph("Sent by route", "Bytes of response bodies whose size is known.", "Bps",
                      (summed(SERVED_RESPONSE_BODY, "http_route", labels=ROUTE), route), stack=True),
                heat("Request bodies", "bytes", SERVED_REQUEST_BODY, ROUTE),
                heat("Response bodies", "bytes", SERVED_RESPONSE_BODY, ROUTE),
            ]),
        ])
