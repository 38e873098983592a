"""VictoriaMetrics beside Prometheus: both scrape one demo, and once its traffic has ended they have the same numbers. Then the
rules, on vmalert, and every query of the boards."""

import math
import subprocess
import time

from stack.programs import until
from stack.stage import CONFIGURATIONS, REQUESTS
from stack.victoria import VMAlert

from .panels import queries

# What counts requests and their lines. The rest counts scrapes or measures the process: of these no two scrapes are equal.
COUNTED = '{{instance="{}", __name__=~"http_(client|server)_.+|session_tap_((inbound_)?(started|ended|cancelled)_requests|log_.+|' \
    'series_overflow|observer_dropped)_total|session_tap_build_info|target_info", __name__!~".+:.+"}}'
LEAST = 300
RULES = f"{CONFIGURATIONS}/rules/*.yml"


def check(stage):
    wrong = []
    dry = subprocess.run(["vmalert", "-dryRun", f"-rule={RULES}"], capture_output=True, text=True)
    if dry.returncode:
        wrong.append(f"vmalert -dryRun: {dry.stderr[-500:]}")
    prometheus, finished = stage.classic, stage.finished
    finished.finished(REQUESTS)
    series, different = _compared(prometheus, stage.victoria, COUNTED.format(finished.address))
    wrong += different
    if series < LEAST:
        wrong.append(f"only {series} series were compared")
    with VMAlert(stage.victoria, RULES, stage.folder) as rules:
        try:
            until("evaluation of all rules", lambda: not rules.unhealthy())
        except TimeoutError:
            wrong += rules.unhealthy()
        wrong += _recorded(stage.victoria)
    expressions = list(queries())
    for place, expression in expressions:
        try:
            stage.victoria.query(expression)
        except ValueError as error:
            wrong.append(f"{place}: {error}: {expression}")
    return f"{series} series are equal, {len(expressions)} queries", wrong


def _compared(prometheus, victoria, selector):
    """How many series both have, and what differs once the last lines of the log have been counted."""
    end = time.monotonic() + 60
    while True:
        now = round(time.time(), 3)
        ours, theirs = (server.query(selector, time=now) for server in (prometheus, victoria))
        different = [f"{labels}: {ours.get(labels)} in Prometheus, {theirs.get(labels)} in VictoriaMetrics"
                     for labels in sorted({*ours, *theirs}) if not _equal(ours.get(labels), theirs.get(labels))]
        # The demo's requests may have ended before the first scrape that tells of them.
        if len(ours) >= LEAST and not different or time.monotonic() > end:
            return len(ours), different
        time.sleep(0.5)


def _equal(one, other):
    """Counts are the same to the last digit. Of a sum of seconds VictoriaMetrics keeps fewer digits than there are."""
    if None in (one, other) or one == int(one) and other == int(other):
        return one == other
    return math.isclose(one, other, rel_tol=1e-9)


def _recorded(victoria):
    for name in ("job:http_client_request_duration_seconds_count:rate5m", "job:http_server_requests_bad:ratio_rate3d",
                 "job_route:http_server_request_duration_seconds:quantile_rate5m"):
        try:
            until(name, lambda: victoria.query(name))
        except TimeoutError as error:
            yield f"VictoriaMetrics: {error}"
