"""A real Prometheus, and what it answers."""

import json
import math
import re
import subprocess
import time
import urllib.parse
from pathlib import Path

from .programs import DASHBOARDS, Program, free_port, get, until


def version():
    """The version of the installed server: (2, 42)."""
    text = subprocess.run(["prometheus", "--version"], capture_output=True, text=True, check=True)
    return tuple(int(number) for number in re.search(r"version (\d+)\.(\d+)", text.stdout + text.stderr).groups())


def native_histograms(version):
    """What makes a server scrape native histograms: features of its command line, and a setting of its `global`. The setting came
    with 3.8, and 3.9 ignores the feature, without an error (changelog of Prometheus)."""
    return ([], "scrape_native_histograms: true") if version >= (3, 8) else (["native-histograms"], "")


def config(job, targets, seconds=1, is_native=False, setting=""):
    """The text of a configuration with the committed rules. It scrapes one job, whose `targets` are as in
    static_configs, and evaluates the rules, every so many seconds. `setting` is one more of its `global`."""
    rules = [f"{DASHBOARDS}/prometheus/rules/{name}" for name in (["*.yml", "native/*.yml"] if is_native else ["*.yml"])]
    return f"""\
global: {{scrape_interval: {seconds}s, evaluation_interval: {seconds}s{setting and f", {setting}"}}}
rule_files: {json.dumps(rules)}
scrape_configs:
  - job_name: {job}
    static_configs: {json.dumps(targets)}
"""


class Prometheus(Program):
    """Starts a server. It reads `config`, the text of its configuration, from `folder`."""

    def __init__(self, config, folder, port=None, features=("exemplar-storage",), flags=()):
        folder = Path(folder)
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        path = folder / f"prometheus-{self.port}.yml"
        path.write_text(config)
        super().__init__("prometheus", [
            f"--config.file={path}", f"--storage.tsdb.path={folder}/data-{self.port}",
            f"--web.listen-address=127.0.0.1:{self.port}",
            *([f"--enable-feature={','.join(features)}"] if features else []), *flags,
        ], folder)
        until("readiness of Prometheus", self._ready)

    def _ready(self):
        self.check()
        return get(f"{self.url}/-/ready")

    def api(self, path, **parameters):
        answer = get(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters, doseq=True)}")
        answer = json.loads(answer or '{"status": "error", "error": "no answer"}')
        if answer["status"] != "success":
            raise ValueError(answer["error"])
        return answer["data"]

    def query(self, expression, **parameters):
        """The samples of an instant query that are numbers, by their labels."""
        result = self.api("query", query=expression, **parameters)
        if result["resultType"] == "scalar":
            return {"": float(result["result"][1])}
        return {json.dumps(one["metric"], sort_keys=True): float(one["value"][1]) if "value" in one
                else float(one["histogram"][1]["count"]) for one in result["result"]
                if "histogram" in one or math.isfinite(float(one["value"][1]))}

    def series(self, expression, seconds=30, step=1):
        """How many series a range query has that hold a number."""
        now = time.time()
        result = self.api("query_range", query=expression, start=now - seconds, end=now, step=step)["result"]
        return sum(any(math.isfinite(float(value)) for _, value in one.get("values", [])) or bool(one.get("histograms"))
                   for one in result)

    def label_values(self, label, selector):
        return self.api(f"label/{label}/values", **{"match[]": selector})

    def unhealthy_rules(self):
        """Rules that have failed, or have not been evaluated yet."""
        groups = self.api("rules")["groups"]
        return [f"{rule['name']}: {rule['health']} {rule.get('lastError', '')}"
                for group in groups for rule in group["rules"] if rule["health"] != "ok"]

    def doubly_recorded(self):
        """Series that rules of two groups record, each of which spoils the other's."""
        found = {}
        for group in self.api("rules")["groups"]:
            for rule in group["rules"]:
                if rule["type"] == "recording":
                    for labels in self.query(rule["query"]):
                        series = re.sub('"__name__": "[^"]*",? ?', "", labels)
                        found.setdefault((rule["name"], series), set()).add(group["name"])
        return [f"{name}{labels}: recorded by {sorted(groups)}" for (name, labels), groups in found.items() if len(groups) > 1]
