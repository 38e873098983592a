"""A request that hangs: its alert fires in Prometheus and by vmalert, and its labels lead to the request."""

import json
import socket
from contextlib import closing

from stack.programs import Demo, Program, get, until
from stack.prometheus import Prometheus, config
from stack.victoria import VictoriaMetrics, VMAlert

from .files import PROMETHEUS

# Instead of the five minutes of the rule, in seconds.
AGE = 10
FIRING = 'ALERTS{alertname="HTTPClientRequestHangs", alertstate="firing"}'


def check(stage):
    (folder := stage.folder / "hangs").mkdir()
    _quicker_rules(rules := folder / "rules")
    # It takes connections, and says nothing.
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        address = "{}:{}".format(*silent.getsockname())
        probe = stage.run(Probe(folder, f"http://{address}/payments/17"))
        prometheus = stage.run(Prometheus(_config(probe.address, rules), folder))
        victoria = stage.run(VictoriaMetrics(probe.address, folder))
        stage.run(VMAlert(victoria, f"{rules}/*.yml", folder))
        wrong = []
        for name, server in ("Prometheus", prometheus), ("VictoriaMetrics", victoria):
            try:
                labels = json.loads(next(iter(until(f"alert in {name}", lambda: server.query(FIRING)))))
                wrong += [f"{name}: {one}" for one in _way_to_request(labels, address)]
            except TimeoutError as error:
                wrong.append(str(error))
    return "one request that hangs, from its alert on", wrong


class Probe(Program):
    """`session-tap probe` of one address. It serves its log, so its page shows addresses."""

    def __init__(self, folder, url):
        super().__init__(Demo.binary(), ["probe", "--port", "0", "--log", str(folder / "probe.jsonl"), "--timeout", "1h", url], folder)
        self.address = until("start of the probe", self._address)

    def _address(self):
        self.check()
        return next((line.split("/")[2] for line in self.log.read_text().splitlines() if line.startswith("metrics")), None)


def _way_to_request(labels, address):
    """What the runbook says: the instance's list has a request of that client to that server."""
    waits = f"http://{labels['instance']}/page/waits"
    lines = until("request in the list", lambda: [one["line"] for one in json.loads(get(waits) or "{}").get("oldest", [])])
    for key, value in {"client.name": labels["client"], "server.address": labels["server_address"],
                       "url.full": f"http://{address}/payments/17", "waiting_for": "response"}.items():
        if lines[0].get(key) != value:
            yield f"{key} is not {value}: {lines[0]}"


def _quicker_rules(folder):
    folder.mkdir()
    for path in PROMETHEUS.glob("rules/*.yml"):
        (folder / path.name).write_text(path.read_text().replace("(http_client_oldest_active_request_seconds{client!~\"events\"}) > 300",
                                                                 f"(http_client_oldest_active_request_seconds{{client!~\"events\"}}) > {AGE}"))


def _config(address, folder):
    return config("probe", [{"targets": [address]}]).replace(f"{PROMETHEUS}/rules/", f"{folder}/")
