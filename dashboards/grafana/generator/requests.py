"""One client, one host, one template: how its requests are spread."""

from .board import REQUEST_LABELS, board
from .panels import graph, heat, thresholds, top
from .promql import (ACTIVE, CLIENT, DURATION, FIRST_BYTE, HOST, REQUEST, REQUEST_BODY, RESPONSE_BODY, by, cached_share, counted,
                     mean, quantile, rate, summed)

EACH = ("client", "http_request_method", "server_address", "server_port", "url_template", "http_response_status_code",
        "error_type")
CLASSIC = "{} (classic buckets)"
NATIVE = "{} (native)"
EITHER = " Of the two, the form that the server scrapes is filled."


def heatmaps(title, description, unit, metric):
    return [
        heat(CLASSIC.format(title), description + EITHER, unit, f"sum by (le) ({rate(metric + '_bucket', REQUEST)})"),
        heat(NATIVE.format(title), description + EITHER, unit, f"sum({rate(metric, REQUEST)})"),
    ]


def quantiles(title, description, unit, metric, **options):
    return graph(title, description, unit, *[(quantile(share, metric), f"p{share * 100:g}") for share in (.5, .9, .99)],
                 (mean(metric), "mean"), exemplars=True, **options)


def requests():
    return board(
        "session-tap-requests", "requests", "The requests of one client, host or template in detail.",
        ("job", "instance", *REQUEST_LABELS),
        [
            ("Duration", [
                *heatmaps("Duration", "Requests a second by how long they took. Points are exemplars.", "s", DURATION),
                quantiles("Duration", "To the last byte of the body.", "s", DURATION,
                          steps=thresholds("green", (0.5, "yellow"), (1, "red"))),
                quantiles("Time to first byte", "To the response's head, where Foundation tells it.", "s", FIRST_BYTE),
                *heatmaps("Time to first byte", "Requests a second by how long the response's head took.", "s",
                          FIRST_BYTE),
            ]),
            ("Requests", [
                graph("Started and ended", "What has started and not ended is active.", "reqps",
                      (f"sum ({rate('session_tap_started_requests_total', CLIENT)})", "started"),
                      (f"sum ({rate('session_tap_ended_requests_total', CLIENT)})", "ended"),
                      (f"sum ({rate('session_tap_cancelled_requests_total', CLIENT)})", "of them cancelled")),
                graph("Active", "Requests under way.", "short",
                      (f"{by('client', 'http_request_method', 'server_address', 'server_port')} ({ACTIVE}{{{HOST}}})",
                       "{{client}} {{http_request_method}} {{server_address}}:{{server_port}}")),
                graph("Redirects", "Redirects that were followed.", "reqps",
                      (f"{by('client')} ({rate('http_client_redirects_total', CLIENT)})", "{{client}}")),
                graph("From the cache", "Requests that a URLCache has answered, of all.", "percentunit",
                      (cached_share("client"), "{{client}}")),
                graph("Outcomes", "Responses by status, and what failed without one.", "reqps",
                      (counted(DURATION, "http_response_status_code", "error_type"),
                       "{{http_response_status_code}} {{error_type}}"), stack=True, width=24),
                top("All of them", "Requests a second by all of their labels.", counted(DURATION, *EACH),
                    {"client": "Client", "http_request_method": "Method", "server_address": "Host",
                     "server_port": "Port", "url_template": "Template", "http_response_status_code": "Status",
                     "error_type": "Error"}, "reqps", value="Requests a second", width=24),
            ]),
            ("Sizes", [
                graph("Sent", "Bytes of request bodies whose size is known.", "Bps",
                      (summed(REQUEST_BODY, "client"), "{{client}}"), stack=True),
                graph("Received", "Bytes of response bodies whose size is known.", "Bps",
                      (summed(RESPONSE_BODY, "client"), "{{client}}"), stack=True),
                *heatmaps("Request bodies", "Requests a second by the size of their body.", "bytes", REQUEST_BODY),
                *heatmaps("Response bodies", "Requests a second by the size of the response's body.", "bytes",
                          RESPONSE_BODY),
            ]),
        ])
