"""A demo without faults, beside the rules as they are committed: nothing is pending, let alone firing.

A machine that is busy may be slow at the start: that has to be over within a minute."""

from stack.programs import Demo, until
from stack.prometheus import Prometheus, config

# Enough for every rate, and for every kind of page.
REQUESTS = 600


def check(folder):
    wrong = []
    with Demo(folder, rate=30, options=["--faults", "off"]) as demo:
        with Prometheus(config("demo", [{"targets": [demo.address]}]), folder) as server:
            for metric in ("session_tap_ended_requests_total", "session_tap_inbound_ended_requests_total"):
                until("requests", lambda: sum(server.query(f"sum({metric})").values()) > REQUESTS)
            until("recorded rates", lambda: sum(server.query("job:http_server_requests_judged:rate5m").values()))
            try:
                until("end of all alerts", lambda: not server.query("ALERTS"))
            except TimeoutError:
                wrong += [f"a healthy demo has an alert: {labels}" for labels in server.query("ALERTS")]
            wrong += server.unhealthy_rules()
    return "a demo without faults", wrong
