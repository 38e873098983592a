"""A demo without faults: none of its alerts is pending, let alone firing.

A machine that is busy may be slow at the start, which the rates of five minutes show for as long."""

from stack.programs import until

# Enough for every rate, and for every kind of page.
REQUESTS = 300
JOB = '{job="shop"}'


def check(stage):
    server = stage.native
    for metric in ("session_tap_ended_requests_total", "session_tap_inbound_ended_requests_total"):
        until("requests", lambda: server.query(f"sum({metric}{JOB}) > {REQUESTS}"))
    until("recorded rates", lambda: server.query(f"job:http_server_requests_judged:rate5m{JOB} > 0"))
    try:
        until("end of all alerts", lambda: not server.query(f"ALERTS{JOB}"), seconds=420)
        wrong = []
    except TimeoutError:
        wrong = [f"a healthy demo has an alert: {labels}" for labels in server.query(f"ALERTS{JOB}")]
    return "a demo without faults", wrong
