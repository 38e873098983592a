"""SessionTap's own health: does it tell all that it sees?"""

from .board import board
from .panels import graph, number, thresholds, top
from .process import of
from .promql import ACTIVE, DURATION, PROCESS, counted, or_zero, quantile, total

NONE = thresholds("green", (0.5, "red"))


def refused(which):
    """Scrapes that got a 503. One that was not started, or not answered in time, has no format."""
    return or_zero(total("session_tap_scrapes_total", labels=PROCESS, where=f'code="503", {which}'))


def tap():
    each = "{{instance}}"
    duration = "session_tap_scrape_duration_seconds"
    return board(
        "session-tap-tap", "its own health", "Scrapes, series, log, observers: whether SessionTap tells all that it sees.",
        ("job", "instance"),
        [
            ("Now", [
                number("Lines dropped", "Log lines lost in the time shown.", "short",
                       f"sum(increase(session_tap_log_dropped_lines_total{{{PROCESS}}}[$__range]))", steps=NONE),
                number("Series overflow", "Label sets that found no room, in the time shown.", "short",
                       f"sum(increase(session_tap_series_overflow_total{{{PROCESS}}}[$__range]))", steps=NONE),
                number("Scrapes refused", "Scrapes that got a 503, in the time shown: too many, too late, or too much unread.", "short",
                       f"sum(increase(session_tap_scrapes_total{{{PROCESS}, code!=\"200\"}}[$__range])) or vector(0)",
                       steps=NONE),
                number("Targets down", "Targets that Prometheus cannot scrape.", "short",
                       f"count(up{{{PROCESS}}} == 0 and on (job) session_tap_build_info) or vector(0)", steps=NONE),
                number("Unbalanced", "Requests started less ended less active: 0 at every scrape.", "short",
                       f"sum(session_tap_started_requests_total{{{PROCESS}}})"
                       f" - sum(session_tap_ended_requests_total{{{PROCESS}}}) - sum({ACTIVE}{{{PROCESS}}})",
                       steps=thresholds("red", (-0.5, "green"), (0.5, "red"))),
                number("Versions in use", "Versions of SessionTap that run.", "short",
                       f"count(count by (version) (session_tap_build_info{{{PROCESS}}}))"),
            ]),
            ("Scrapes", [
                graph("Scrapes by format", "Answered scrapes, by the format that the scraper wanted.", "reqps",
                      (total("session_tap_scrapes_total", "format", "code", labels=PROCESS),
                       "{{format}} {{code}}"), stack=True),
                graph("Scrapes refused by reason", "503: more scrapes at a time than the endpoint takes, or none within the scrape's timeout; or more "
                      "than 64 MiB of answers that their readers have yet to take.", "reqps",
                      (refused('format=""'), "too many, or too late"), (refused('format!=""'), "too much unread")),
                graph("Time to answer", "From a scrape's request to its answer.", "s",
                      (quantile(0.5, duration, labels=PROCESS), "p50"),
                      (quantile(0.99, duration, labels=PROCESS), "p99"),
                      (f"max({of('scrape_duration_seconds')})", "slowest, as Prometheus sees it")),
                graph("In flight", "Scrapes that wait for their answer. One that asks for the metrics counts itself.",
                      "short", (f"session_tap_scrapes_in_flight{{{PROCESS}}}", each)),
                graph("Scrapes by instance", "More scrapers than expected?", "reqps",
                      (counted(duration, "instance", labels=PROCESS), each)),
                graph("Overdue handlers", "Answers of the endpoint that are still being made although their request is over: its "
                      "time has passed, or its client is gone. 0 where none has ever been overdue.", "short",
                      (or_zero(f"sum by (instance, path) (session_tap_overdue_handlers{{{PROCESS}}})"),
                       "{{instance}} {{path}}"), height=6, steps=thresholds("green", (0.5, "red"))),
            ]),
            ("Series", [
                graph("Samples of a scrape", "Series that an instance exposes.", "short",
                      (of("scrape_samples_scraped"), each)),
                graph("Overflow by metric", "Label sets that found no room: too many hosts or templates, or an input "
                      "that makes them up.", "cps",
                      (total("session_tap_series_overflow_total", "metric", labels=PROCESS), "{{metric}}"),
                      ),
                graph("Requests in overflow", "Requests that count in a series without labels.", "reqps",
                      (or_zero(counted(DURATION, labels=PROCESS, where='otel_metric_overflow="true"')), "requests")),
                graph("Values refused", "Values that no instrument can take: infinite, not a number, or below 0.",
                      "cps",
                      (or_zero(total("session_tap_dropped_values_total", labels=PROCESS)), "values")),
            ]),
            ("Log and observers", [
                graph("Lines by level", "Lines written.", "cps",
                      (total("session_tap_log_lines_total", "level", labels=PROCESS), "{{level}}"), stack=True),
                graph("Lines left out by reason", "By severity or by sampling, as configured.", "cps",
                      (total("session_tap_log_filtered_lines_total", "reason", labels=PROCESS), "{{reason}}")),
                graph("Lines dropped by reason", "queue_full: the disk is slower than the lines. write_error: it "
                      "refuses them. shutdown: there was no time left.", "cps",
                      (total("session_tap_log_dropped_lines_total", "reason", labels=PROCESS), "{{reason}}")),
                graph("Observer calls dropped", "Calls of the app's own observers for which there was no room: an observer is "
                      "too slow. No data where an app has no observers.", "cps",
                      (total("session_tap_observer_dropped_total", "instance", labels=PROCESS), each)),
                graph("Bytes", "Bytes of log written.", "Bps",
                      (total("session_tap_log_bytes_total", "instance", labels=PROCESS), each)),
                graph("Write errors", "Writes that failed and were tried again.", "cps",
                      (total("session_tap_log_write_errors_total", "instance", labels=PROCESS), each)),
                graph("Requests not started", "Requests that URLSession has taken and not started. If they stay, something holds "
                      "the queue of all sessions.", "short",
                      (f"sum by (instance) (session_tap_unstarted_requests{{{PROCESS}}})", each)),
                graph("Oldest not started", "For how long the oldest of them has waited.", "s",
                      (f"max by (instance) (session_tap_oldest_unstarted_request_seconds{{{PROCESS}}})", each)),
                graph("Queue held", "For how long the queue of all sessions has not run: no request starts or ends.", "s",
                      (f"max by (instance) (session_tap_queue_held_seconds{{{PROCESS}}})", each)),
                graph("Unfinished requests", "Requests that were active when a process ended, as its last push has them.",
                      "short", (f"sum by (instance) (session_tap_unfinished_requests{{{PROCESS}}})", each)),
                graph("Left by the process before", "Requests that were active when a process before ended without a shutdown, as "
                      "the black box has them.", "short",
                      (f"sum by (instance) (session_tap_black_box_unfinished_requests_total{{{PROCESS}}})", each)),
                graph("Black box full", "Requests that found no place in the black box, because too many were active.", "cps",
                      (total("session_tap_black_box_missed_requests_total", "instance", labels=PROCESS), each)),
                graph("Refused threads", "Starts of a thread that the system refused, at a limit of tasks. Each is tried again.",
                      "cps", (total("session_tap_refused_threads_total", "instance", labels=PROCESS), each)),
                graph("Unknown connections", "Requests whose connection the kernel could not be asked of. Their round trip is "
                      "unknown.", "cps",
                      (total("session_tap_unknown_connections_total", "instance", labels=PROCESS), each)),
                graph("Contradictions", "Transfers of which another source contradicted libcurl or the kernel. After some, a "
                      "process does not use it any more: the table of versions has none then.", "cps",
                      (total("session_tap_contradictions_total", "instance, witness", labels=PROCESS),
                       "{{instance}} {{witness}}")),
                top("Versions", "Which version runs where, and from what it reads transfers and connections: with none, there are "
                    "no phases or fewer, and sizes come from headers or round trips are unknown.",
                    f"sum by (job, instance, version, transfer_info, connection_info) (session_tap_build_info{{{PROCESS}}})",
                    {"job": "Job", "instance": "Instance", "version": "Version",
                     "transfer_info": "Transfers from", "connection_info": "Connections from"},
                    "none", value="Processes", width=12),
            ]),
        ])
