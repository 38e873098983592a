"""VictoriaMetrics, and its vmalert."""

import json
import urllib.parse
from pathlib import Path

from .programs import Program, free_port, get, until


class VictoriaMetrics(Program):
    """A server that scrapes an address as the job \"demo\"."""

    def __init__(self, address, folder):
        path = Path(folder) / "victoria.yml"
        path.write_text("global: {scrape_interval: 2s}\nscrape_configs:\n"
                        f"  - {{job_name: demo, static_configs: [{{targets: ['{address}']}}]}}\n")
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
    """Evaluates rules on a VictoriaMetrics, and writes what they record there."""

    def __init__(self, victoria, rules, folder):
        self.url = f"http://127.0.0.1:{(port := free_port())}"
        super().__init__("vmalert", [
            f"-rule={rules}", f"-datasource.url={victoria.url}", f"-remoteWrite.url={victoria.url}",
            "-notifier.url=http://127.0.0.1:9", "-evaluationInterval=2s", "-remoteWrite.flushInterval=1s",
            f"-httpListenAddr=127.0.0.1:{port}",
        ], folder)
        until("readiness of vmalert", lambda: self.check() or get(f"{self.url}/api/v1/rules"))

    def unhealthy(self):
        """The rules that have failed, or have not been evaluated yet."""
        groups = json.loads(get(f"{self.url}/api/v1/rules"))["data"]["groups"]
        return [f"{rule['name']}: {rule['lastError'] or 'not evaluated'}" for group in groups for rule in group["rules"]
                if rule["health"] != "ok" or rule["lastEvaluation"].startswith("0001")]
