"""VictoriaMetrics beside Prometheus: both scrape one demo, and once its traffic has ended they have the same numbers. Then
the rules, on vmalert, and the queries of every board, both without native histograms."""

import json
import math
import subprocess
import time
import urllib.parse
from pathlib import Path

from stack.classic import write_classic
from stack.programs import Demo, Program, free_port, get, until
from stack.prometheus import Prometheus

from .panels import filled

REQUESTS = 800
# What counts requests and their lines. The rest counts scrapes or measures the process: of these no two scrapes are equal.
# Prometheus asks for OpenMetrics, which tells also when a series was made.
COUNTED = '{__name__=~"http_(client|server)_.+|session_tap_((inbound_)?(started|ended|cancelled)_requests|log_.+|' \
    'series_overflow|observer_dropped)_total|session_tap_build_info|target_info", __name__!~".+_created"}'
ENDED = "sum(session_tap_ended_requests_total)"


def check(folder):
    wrong = []
    write_classic(Path(folder) / "classic")
    dry = subprocess.run(["vmalert", "-dryRun", f"-rule={folder}/classic/rules/*.yml"], capture_output=True, text=True)
    if dry.returncode:
        wrong.append(f"vmalert -dryRun: {dry.stderr[-500:]}")
    with Demo(folder, rate=100, options=["--requests", str(REQUESTS)]) as demo:
        scraping = ("global: {scrape_interval: 1s}\nscrape_configs:\n"
                    f"  - {{job_name: demo, static_configs: [{{targets: ['{demo.address}']}}]}}\n")
        with Prometheus(scraping, folder) as prometheus, VictoriaMetrics(scraping, folder) as victoria:
            with VMAlert(victoria, Path(folder) / "classic/rules", folder) as rules:
                demo.finished(REQUESTS)
                for server in (prometheus, victoria):
                    until("all requests", lambda: list(server.query(ENDED).values()) == [REQUESTS])
                series, different = _compared(prometheus, victoria)
                wrong += different
                try:
                    until("evaluation of all rules", lambda: not rules.unhealthy(), seconds=30)
                except TimeoutError:
                    wrong += rules.unhealthy()
                if series < 300:
                    wrong.append(f"only {series} series were compared")
                count, without = _boards(victoria, Path(folder) / "classic/boards")
                wrong += without
                wrong += _recorded(victoria)
    return f"{series} series are equal, {count} queries of boards", wrong


def _compared(prometheus, victoria):
    """How many series both have, and what differs once the last lines of the log have been counted."""
    end = time.monotonic() + 15
    while True:
        now = round(time.time(), 3)
        ours, theirs = (server.query(COUNTED, time=now) for server in (prometheus, victoria))
        different = [f"{labels}: {ours.get(labels)} in Prometheus, {theirs.get(labels)} in VictoriaMetrics"
                     for labels in sorted({*ours, *theirs}) if not _equal(ours.get(labels), theirs.get(labels))]
        if not different or time.monotonic() > end:
            return len(ours), different
        time.sleep(0.5)


def _equal(one, other):
    """Counts are the same to the last digit. Of a sum of seconds VictoriaMetrics keeps fewer digits than there are."""
    if None in (one, other) or one == int(one) and other == int(other):
        return one == other
    return math.isclose(one, other, rel_tol=1e-9)


def _boards(victoria, folder):
    wrong, count = [], 0
    for path in sorted(folder.glob("*.json")):
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel.get("targets", []):
                count += 1
                try:
                    victoria.query(filled(target["expr"]))
                except ValueError as error:
                    wrong.append(f"{path.stem}, {panel['title']}: {error}: {target['expr']}")
    return count, wrong


def _recorded(victoria):
    for name in ("job:http_client_request_duration_seconds_count:rate5m", "job:http_server_requests_bad:ratio_rate3d",
                 "job_route:http_server_request_duration_seconds:quantile_rate5m"):
        try:
            until(name, lambda: victoria.query(name), seconds=60)
        except TimeoutError as error:
            yield f"VictoriaMetrics: {error}"


class VictoriaMetrics(Program):
    """A server that scrapes by a configuration of Prometheus's."""

    def __init__(self, config, folder):
        path = Path(folder) / "victoria.yml"
        path.write_text(config)
        self.url = f"http://127.0.0.1:{(port := free_port())}"
        super().__init__("victoria-metrics", [
            f"-promscrape.config={path}", f"-storageDataPath={folder}/victoria", f"-httpListenAddr=127.0.0.1:{port}",
            # It answers for half a minute ago otherwise, and from a cache.
            "-search.latencyOffset=0s", "-search.disableCache",
        ], folder)
        until("readiness of VictoriaMetrics", lambda: self.check() or get(f"{self.url}/health"))

    def query(self, expression, **parameters):
        """The samples of an instant query, by their labels."""
        answer = get(f"{self.url}/api/v1/query?" + urllib.parse.urlencode({"query": expression, **parameters}))
        answer = json.loads(answer or '{"status": "error", "error": "no answer"}')
        if answer["status"] != "success":
            raise ValueError(answer["error"])
        return {json.dumps(one["metric"], sort_keys=True): float(one["value"][1]) for one in answer["data"]["result"]}


class VMAlert(Program):
    """Evaluates rules on a VictoriaMetrics, once a second, and writes what they record there."""

    def __init__(self, victoria, rules, folder):
        self.url = f"http://127.0.0.1:{(port := free_port())}"
        super().__init__("vmalert", [
            f"-rule={rules}/*.yml", f"-datasource.url={victoria.url}", f"-remoteWrite.url={victoria.url}",
            "-notifier.url=http://127.0.0.1:9", "-evaluationInterval=1s", "-remoteWrite.flushInterval=1s",
            f"-httpListenAddr=127.0.0.1:{port}",
        ], folder)
        until("readiness of vmalert", lambda: self.check() or get(f"{self.url}/api/v1/rules"))

    def unhealthy(self):
        """The rules that have failed, or have not been evaluated yet."""
        groups = json.loads(get(f"{self.url}/api/v1/rules"))["data"]["groups"]
        return [f"{rule['name']}: {rule['lastError'] or 'not evaluated'}" for group in groups for rule in group["rules"]
                if rule["health"] != "ok" or rule["lastEvaluation"].startswith("0001")]
