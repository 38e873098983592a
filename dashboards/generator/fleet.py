"""All processes of a job together, from recorded series alone: what a large fleet is watched by."""

from .board import board
from .inbound import JOB, WINDOWS, burnt
from .overview import APDEX, APDEX_SAYS, CHOSEN_CLIENTS as CHOSEN, ERRORS, SCORE, SECONDS
from .panels import INBOUND, graph, number, phased, thresholds, top
from .promql import CONNECTED, ERROR, ERROR_SAYS, MISTAKE, MISTAKES_SAY, SENT, SERVED_ERROR_SAYS, alerts, apdex
from .requests import PHASES_SAY

BUDGET = "scalar(session_tap:slo_budget:ratio)"
COUNT = "job:http_client_request_duration_seconds_count:rate5m"
ACTIVE = "job:http_client_active_requests:sum"
QUANTILE = "job_client:http_client_request_duration_seconds:quantile_rate5m"
TEMPLATE_QUANTILE = "job:http_client_request_duration_seconds:quantile_rate5m"
PHASE_SUM = "job:http_client_request_phase_duration_seconds_sum:rate5m"
PHASE_QUANTILE = "job:http_client_request_phase_duration_seconds:quantile_rate5m"
OPENED = "job:http_client_connections_opened:rate5m"
SERVED = "job:http_server_request_duration_seconds_count:rate5m"
BAD = "job_client:http_client_requests_bad:"


def fleet():
    requests = f"sum by (job, client) ({COUNT}{{{CHOSEN}}})"
    one = "{{job}} {{client}}"
    return board(
        "session-tap-fleet", "fleet", "All processes of a job together, from the recorded series: as fast for ten "
        "thousand processes as for one. Needs the rules.",
        ("job", "client"),
        [
            ("Now", [
                number("Requests", "Requests that ended, a second.", "reqps", f"sum({COUNT}{{{CHOSEN}}})", decimals=1),
                number("Error share", ERROR_SAYS, "percentunit", f"sum({BAD}rate5m{{{CHOSEN}}}) / sum({COUNT}{{{CHOSEN}}})",
                       steps=ERRORS, decimals=2),
                number("Slowest p99", "Of the clients, the one with the highest.", "s",
                       f"max({QUANTILE}{{{CHOSEN}, quantile=\"0.99\"}})", steps=SECONDS),
                number("Apdex", "Of all requests, and of the client that has the lowest. " + APDEX_SAYS, "none",
                       apdex(SCORE, "job_client:http_client_requests_judged:rate5m", CHOSEN), steps=APDEX, decimals=2,
                       extreme=(f"bottomk(1, {SCORE}{{{CHOSEN}}})", "lowest: {{client}}")),
                number("Active", "Active requests.", "short", f"sum({ACTIVE}{{{CHOSEN}}})"),
                number("Processes", "Processes that are scraped.", "short",
                       "sum(job:session_tap_instances:count{job=~\"$job\"})"),
                graph("Requests by client", "Requests that ended.", "reqps", (requests, one), stack=True, width=8),
                graph("Error share by client", ERROR_SAYS, "percentunit", (f"{BAD}rate5m{{{CHOSEN}}} / {requests}", one),
                      steps=ERRORS, width=8),
                graph("p99 by client", "One request in a hundred takes longer.", "s",
                      (f"{QUANTILE}{{{CHOSEN}, quantile=\"0.99\"}}", one), steps=SECONDS, width=8),
            ]),
            ("Objective", [
                number("Objective", "The share of requests that has to be good. It stands in rules/slo.yml.",
                       "percentunit", "session_tap:slo_objective:ratio", decimals=2),
                number("Budget left", "Of the error budget of the last three days, by the worst client.", "percentunit",
                       f"1 - max({BAD}ratio_rate3d{{{CHOSEN}}}) / {BUDGET}",
                       steps=thresholds("red", (0, "yellow"), (0.25, "green"))),
                graph("Budget burnt", "How many times faster than the objective allows, by window: 14.4 over an hour "
                      "and five minutes is a page, 1 over three days and six hours a ticket.", "short",
                      *[(f"max({BAD}ratio_rate{window}{{{CHOSEN}}}) / {BUDGET}", window) for window in WINDOWS],
                      width=16, steps=thresholds("green", (1, "yellow"), (14.4, "red"))),
                graph("Alerts", "Alerts of these rules that are pending or firing.", "short",
                      (alerts(), "{{alertname}} {{alertstate}}"), width=24, height=6, step_after=True),
            ]),
            ("Errors", [
                graph("Failures by kind", "error_type: the status for a 5xx, else why there was no complete response.", "reqps",
                      (f"sum by (error_type) ({COUNT}{{{CHOSEN}, {ERROR}}})", "{{error_type}}"), stack=True, width=8),
                graph("4xx by client", MISTAKES_SAY, "reqps",
                      (f"sum by (client, http_response_status_code) ({COUNT}{{{CHOSEN}, {MISTAKE}}})",
                       "{{http_response_status_code}} {{client}}"), stack=True, width=8),
                graph("Cancelled", "Requests that the apps have cancelled.", "reqps",
                      (f"job_client:session_tap_cancelled_requests:rate5m{{{CHOSEN}}}", one), width=8),
            ]),
            ("Duration", [
                graph("Median", "Half of the requests take longer.", "s",
                      (f"{QUANTILE}{{{CHOSEN}, quantile=\"0.5\"}}", one)),
                graph("Apdex", APDEX_SAYS, "none",
                      (f"{SCORE}{{{CHOSEN}}}", one), maximum=1),
                graph("Mean", "Time spent by the number of requests.", "s",
                      (f"sum by (job, client) (job:http_client_request_duration_seconds_sum:rate5m{{{CHOSEN}}})"
                       f" / {requests}", one)),
                graph("p99 of the time to first byte", "To the first byte of the final response.", "s",
                      (f"job_client:http_client_time_to_first_byte_seconds:quantile_rate5m{{{CHOSEN}}}", one)),
                graph("Redirects", "Redirects that were followed.", "reqps",
                      (f"job_client:http_client_redirects:rate5m{{{CHOSEN}}}", one)),
                top("Slowest ten", "By p99.", f"topk(10, {TEMPLATE_QUANTILE}{{{CHOSEN}, quantile=\"0.99\"}})",
                    {"job": "Job", "client": "Client", "server_address": "Host", "url_template": "Template"}, "s",
                    value="p99", height=8),
            ]),
            ("Where the time goes", [
                phased(graph("Mean of a request by phase", PHASES_SAY, "s",
                             (f"sum by (phase) ({PHASE_SUM}{{{CHOSEN}}}) / scalar(sum({COUNT}{{{CHOSEN}, {SENT}}}))", "{{phase}}"),
                             stack=True)),
                phased(graph("Highest p99 by phase", "Of the clients and servers, the one with the highest.", "s",
                             (f"max by (phase) ({PHASE_QUANTILE}{{{CHOSEN}, quantile=\"0.99\"}})", "{{phase}}"))),
                graph("Connections for each request", "Connections opened by requests that got one. 0: all were reused. 1: each "
                      "request opens its own.", "short", (f"sum by (job, client) ({OPENED}{{{CHOSEN}}})"
                       f" / sum by (job, client) ({COUNT}{{{CHOSEN}, {CONNECTED}}})", one),
                      steps=thresholds("green", (0.5, "yellow"), (0.9, "red"))),
                graph("Connections opened", "Connections that requests have opened, a second.", "cps",
                      (f"sum by (job, client) ({OPENED}{{{CHOSEN}}})", one), stack=True),
                graph("Network round trip", "Median of the least round trips of connections: of the servers, the one with the "
                      "longest.", "s",
                      (f"max by (job, client) (job:http_client_network_round_trip_seconds:quantile_rate5m{{{CHOSEN}, "
                       f"quantile=\"0.5\"}})", one)),
                graph("Retransmitted segments", "What was sent again on connections, a second.", "ops",
                      (f"sum by (job, client) (job:http_client_retransmitted_segments:rate5m{{{CHOSEN}}})", one)),
            ]),
            ("Requests that the apps serve", [
                graph("Served", "Requests that ended. Click a job for the board of the requests that it serves.", "reqps",
                      (f"sum by (job) ({SERVED}{{{JOB}}})", "{{job}}"),
                      stack=True, width=8, link=INBOUND),
                graph("Failed", SERVED_ERROR_SAYS, "percentunit",
                      (f"job:http_server_requests_bad:rate5m{{{JOB}}} / sum by (job) ({SERVED}{{{JOB}}})", "{{job}}"), steps=ERRORS, width=8,
                      link=INBOUND),
                graph("p99", "One request in a hundred takes longer to serve.", "s",
                      (f"job:http_server_request_duration_seconds:quantile_rate5m{{{JOB}, quantile=\"0.99\"}}",
                       "{{job}}"), steps=SECONDS, width=8, link=INBOUND),
                graph("Budget burnt", "How many times faster than the objective of the requests that are served allows, by "
                      "the worst job.", "short",
                      *burnt(*WINDOWS), steps=thresholds("green", (1, "yellow"), (14.4, "red")), link=INBOUND),
                graph("Apdex", APDEX_SAYS, "none",
                      (f"job:http_server_apdex:rate5m{{{JOB}}}", "{{job}}"), maximum=1, link=INBOUND),
                graph("Active", "Requests that are being served.", "short",
                      (f"job:http_server_active_requests:sum{{{JOB}}}", "{{job}}")),
                graph("Abandoned", "Requests whose callers went away.", "reqps",
                      (f"job:session_tap_inbound_cancelled_requests:rate5m{{{JOB}}}", "{{job}}")),
                graph("Bytes served", "Of bodies whose size is known.", "Bps",
                      (f"sum by (job) (job:http_server_request_body_size_bytes_sum:rate5m{{{JOB}}})", "{{job}} received"),
                      (f"sum by (job) (job:http_server_response_body_size_bytes_sum:rate5m{{{JOB}}})", "{{job}} sent")),
                top("Slowest ten routes", "By p99.",
                    f"topk(10, job_route:http_server_request_duration_seconds:quantile_rate5m{{{JOB}, "
                    "quantile=\"0.99\"})", {"job": "Job", "http_route": "Route"}, "s", value="p99"),
            ]),
            ("Load", [
                graph("Active", "Active requests.", "short", (f"sum by (job, client) ({ACTIVE}{{{CHOSEN}}})", one)),
                graph("Sent and received", "Bytes of bodies whose size is known.", "Bps",
                      (f"sum by (job) (job:http_client_request_body_size_bytes_sum:rate5m{{{CHOSEN}}})", "{{job}} sent"),
                      (f"sum by (job) (job:http_client_response_body_size_bytes_sum:rate5m{{{CHOSEN}}})",
                       "{{job}} received")),
                graph("CPU", "Cores in use, all processes together.", "short",
                      ('job:process_cpu_seconds:rate5m{job=~"$job"}', "{{job}}")),
                graph("Largest process", "Resident memory.", "bytes",
                      ('job:process_resident_memory_bytes:max{job=~"$job"}', "{{job}}")),
            ]),
        ],
        period="now-6h", refresh="1m")
