"""One client, one host, one template: how its requests are spread."""

from .board import board
from .panels import graph, heat, phase_bars, phased, quantiles, thresholds, top
from .promql import (ACTIVE, CLIENT, DURATION, FIRST_BYTE, HOST, OPENED, PHASE, REQUEST_BODY, RESPONSE_BODY, RETRANSMITTED,
                     ROUND_TRIP, active, connections, counted, local_share, phase_means, quantile, queued, response_share,
                     summed, total)

EACH = ("client", "http_request_method", "server_address", "server_port", "url_template", "http_response_status_code",
        "error_type", "network_protocol_version")
SERVER = ("client", "server_address")
ONE_SERVER = "{{client}} {{server_address}}"
PHASES_SAY = ("queue: waiting for a connection of the session's. upload: the request's body. processing: the request goes out, "
              "and the server works. transfer: first byte to last. response: both, where nothing tells them apart. local: time in "
              "this process. On a connection that was open there is no resolve, connect and tls.")


def requests():
    return board(
        "session-tap-requests", "requests", "The requests of one client, host or template in detail.",
        ("job", "instance", "client", "host", "template"),
        [
            ("Duration", [
                heat("Duration", "s", DURATION),
                quantiles("Duration", "To the last byte of the body.", DURATION,
                          steps=thresholds("green", (0.5, "yellow"), (1, "red"))),
                heat("Time to first byte", "s", FIRST_BYTE),
                quantiles("Time to first byte", "To the first byte of the final response.", FIRST_BYTE),
            ]),
            ("Where the time goes", [
                phased(graph("Mean of a request by phase", PHASES_SAY + " Legs before a "
                             "redirect are in the duration, and in no phase.", "s",
                             (phase_means(), "{{phase}}"), stack=True, height=9)),
                phase_bars("Time by server and phase", "What the requests of a second spend in each phase, all together: which "
                           "server the app waits for, and in which phase.", summed(PHASE, "server_address", "phase")),
                phased(graph("p99 by phase", "Of the requests that have the phase: of those that open "
                             "a connection, one in a hundred takes longer to.", "s",
                             (quantile(0.99, PHASE, "phase"), "{{phase}}"))),
                graph("Time in this process", "Its part of the time of requests. The queue that all URLSessions "
                      "share is held, or no processor is free: look at callbacks, protocol classes and body streams.",
                      "percentunit", (local_share(*SERVER), ONE_SERVER), maximum=1),
                graph("Responses in pieces", "Their share, of requests with a body: nothing tells processing and transfer apart, and "
                      "both are the phase response. libcurl 8.10 and later knows.", "percentunit",
                      (response_share(*SERVER), ONE_SERVER), maximum=1),
                graph("Network round trip", "p99 of the least round trips of connections, of all templates. Processing that "
                      "is near one round trip is the network; far more is the server.", "s",
                      (quantile(0.99, ROUND_TRIP, *SERVER, labels=HOST), ONE_SERVER)),
                graph("Retransmitted segments", "What was sent again on connections, a second, of all templates. The network "
                      "loses segments.", "ops",
                      (total(RETRANSMITTED, *SERVER, labels=HOST), ONE_SERVER)),
                graph("Requests by HTTP version", "None where no response came, or none of the network's.", "reqps",
                      (counted(DURATION, "network_protocol_version"), "{{network_protocol_version}}"), stack=True),
                graph("Connections for each request", "Connections opened by requests that got one. 0: all were reused. 1: each "
                      "request opens its own.", "short", (connections(*SERVER), ONE_SERVER),
                      steps=thresholds("green", (0.5, "yellow"), (0.9, "red"))),
                graph("Connections opened", "Connections that requests have opened, a second.", "cps",
                      (total(OPENED, *SERVER, labels=HOST), ONE_SERVER), stack=True),
                graph("Requests that wait for a connection", "Their share. The session has "
                      "httpMaximumConnectionsPerHost connections to that server, and all are busy.", "percentunit",
                      (queued("_count", *SERVER), ONE_SERVER), maximum=1),
                graph("Wait for a connection", "Mean of all requests, those that did not wait included.", "s",
                      (queued("_sum", *SERVER), ONE_SERVER)),
            ]),
            ("Requests", [
                graph("Started and ended", "What has started and not ended is active.", "reqps",
                      (total("session_tap_started_requests_total", labels=CLIENT), "started"),
                      (total("session_tap_ended_requests_total", labels=CLIENT), "ended"),
                      (total("session_tap_cancelled_requests_total", labels=CLIENT), "of them cancelled")),
                graph("Active", "Active requests.", "short",
                      (active(ACTIVE, HOST, "client", "http_request_method", "server_address", "server_port"),
                       "{{client}} {{http_request_method}} {{server_address}}:{{server_port}}")),
                graph("Oldest active", "Age of the oldest request that has started and not ended.", "s",
                      (f"max by (client, server_address) (http_client_oldest_active_request_seconds{{{HOST}}})",
                       ONE_SERVER), width=8),
                graph("Redirects", "Redirects that were followed.", "reqps",
                      (total("http_client_redirects_total", "client", labels=CLIENT), "{{client}}"), width=8),
                graph("From the cache", "Requests that a URLCache has answered are a hit.", "reqps",
                      (counted(DURATION, "client", "cache"), "{{client}} {{cache}}"), width=8),
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
                heat("Request bodies", "bytes", REQUEST_BODY),
                heat("Response bodies", "bytes", RESPONSE_BODY),
            ]),
        ])
