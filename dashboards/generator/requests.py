"""One client, one host, one template: how its requests are spread."""

from .board import REQUEST_LABELS, board
from .panels import graph, phase_bars, phased, thresholds, top
from .promql import (ACTIVE, CLIENT, DURATION, FIRST_BYTE, HOST, OPENED, PHASE, PHASES, REQUEST_BODY,
                     RESPONSE_BODY, RETRANSMITTED, ROUND_TRIP, active, by, cached_share, counted, local_share, phase_mean, phase_means, quantile,
                     rate, reused_share, summed, waiting_share)
from .shapes import heatmaps, quantiles

EACH = ("client", "http_request_method", "server_address", "server_port", "url_template", "http_response_status_code",
        "error_type", "network_protocol_version")
SERVER = ("client", "server_address", "server_port")
ONE_SERVER = "{{client}} {{server_address}}:{{server_port}}"
PHASES_SAY = ("queue: waiting for a connection of the session's. upload: the request's body. processing: the request goes out, "
              "and the server works. transfer: first byte to last. local: time in this process. On a connection that was "
              "open there is no resolve, connect and tls.")


def requests():
    return board(
        "session-tap-requests", "requests", "The requests of one client, host or template in detail.",
        ("job", "instance", *REQUEST_LABELS),
        [
            ("Duration", [
                *heatmaps("Duration", "Requests a second by how long they took. Points are exemplars.", "s", DURATION),
                quantiles("Duration", "To the last byte of the body.", "s", DURATION,
                          steps=thresholds("green", (0.5, "yellow"), (1, "red"))),
                quantiles("Time to first byte", "To the first byte of the final response.", "s", FIRST_BYTE),
                *heatmaps("Time to first byte", "Requests a second by how long the first byte took.", "s",
                          FIRST_BYTE),
            ]),
            ("Where the time goes", [
                phased(graph("Mean of a request by phase", PHASES_SAY + " Legs before a "
                             "redirect are in the duration, and in no phase.", "s",
                             *[(phase_mean(phase), phase) for phase in PHASES], stack=True, height=9)),
                phase_bars("By client and server", "The mean of a request by phase: of the ten that the app waits for "
                           "most.", phase_means(*SERVER)),
                phased(graph("p99 by phase", "Of the requests that have the phase: of those that open "
                             "a connection, one in a hundred takes longer to.", "s",
                             (quantile(0.99, PHASE, "phase"), "{{phase}}"))),
                graph("Time in this process", "Its part of the time of requests. The queue that all URLSessions "
                      "share is held, or no processor is free: look at callbacks, protocol classes and body streams.",
                      "percentunit", (local_share(*SERVER), ONE_SERVER), maximum=1),
                graph("Network round trip", "p99 of the least round trips of connections, of all templates. Processing that "
                      "is near one round trip is the network; far more is the server.", "s",
                      (quantile(0.99, ROUND_TRIP, *SERVER, labels=HOST), ONE_SERVER)),
                graph("Retransmitted segments", "What was sent again on connections, a second, of all templates. The network "
                      "loses segments.", "ops",
                      (f"{by(*SERVER)} ({rate(RETRANSMITTED, HOST)})", ONE_SERVER)),
                graph("Requests by HTTP version", "None where no response came, or none of the network's.", "reqps",
                      (counted(DURATION, "network_protocol_version"), "{{network_protocol_version}}"), stack=True),
                graph("On a reused connection", "Of the requests that got a connection, those that got one that was "
                      "open. Near nought, each request opens its own.", "percentunit",
                      (reused_share(*SERVER), ONE_SERVER), maximum=1,
                      steps=thresholds("red", (0.1, "yellow"), (0.5, "green"))),
                graph("Connections opened", "Connections that requests have opened, a second.", "cps",
                      (f"{by(*SERVER)} ({rate(OPENED, HOST)})", ONE_SERVER), stack=True),
                graph("Requests that wait for a connection", "Their share. The session has "
                      "httpMaximumConnectionsPerHost connections to that server, and all are busy.", "percentunit",
                      (waiting_share(*SERVER), ONE_SERVER), maximum=1),
                graph("Wait for a connection", "Mean of all requests, those that did not wait included.", "s",
                      (phase_mean("queue", *SERVER), ONE_SERVER)),
            ]),
            ("Requests", [
                graph("Started and ended", "What has started and not ended is active.", "reqps",
                      (f"sum ({rate('session_tap_started_requests_total', CLIENT)})", "started"),
                      (f"sum ({rate('session_tap_ended_requests_total', CLIENT)})", "ended"),
                      (f"sum ({rate('session_tap_cancelled_requests_total', CLIENT)})", "of them cancelled")),
                graph("Active", "Requests under way.", "short",
                      (active(ACTIVE, HOST, "client", "http_request_method", "server_address", "server_port"),
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
                     "error_type": "Error", "network_protocol_version": "HTTP"}, "reqps", value="Requests a second", width=24),
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
