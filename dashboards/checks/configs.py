"""Starts what ../prometheus configures: the servers read the committed files, with other ports and quicker clocks."""

import http.server
import json
import re
import threading
from pathlib import Path

from stack.programs import DASHBOARDS, Demo, Program, free_port, get, until
from stack.prometheus import Prometheus

PROMETHEUS = DASHBOARDS / "prometheus"


class Receiver(http.server.ThreadingHTTPServer):
    """Takes the notifications of an Alertmanager."""

    def __init__(self):
        self.alerts = set()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                receiver.alerts |= {(self.path, alert["labels"]["alertname"]) for alert in body["alerts"]}
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


def check(folder):
    folder = Path(folder)
    ports = {name: free_port() for name in ("demo", "prometheus", "store", "alertmanager")}
    receiver = Receiver()
    ports["receiver"] = receiver.server_port
    _copy(folder, ports)
    read = lambda name: (folder / name).read_text()  # noqa: E731
    arguments = [f"--config.file={folder}/alertmanager.yml", f"--storage.path={folder}/alerts",
                 f"--web.listen-address=127.0.0.1:{ports['alertmanager']}", "--cluster.listen-address="]
    wrong = []
    with Demo(folder, ports["demo"], rate=50), Program("prometheus-alertmanager", arguments, folder):
        servers = {}
        try:
            servers["prometheus"] = Prometheus(read("prometheus.yml"), folder, ports["prometheus"],
                                               ("exemplar-storage", "native-histograms"))
            servers["store"] = Prometheus("global: {}\n", folder, ports["store"],
                                          flags=["--web.enable-remote-write-receiver"])
            servers["remote-write"] = Prometheus(read("remote-write.yml"), folder)
            servers["federation"] = Prometheus(read("federation.yml"), folder)

            def expect(what, server, expression):
                try:
                    until(what, lambda: servers[server].query(expression), seconds=40)
                except TimeoutError as error:
                    wrong.append(f"{server}: {error}: {expression}")

            expect("target of a fixed address", "prometheus", 'up{job="demo"} == 1')
            expect("target from a file", "prometheus", 'up{job="shop"} == 1')
            expect("recorded series by remote write", "store",
                   'job:http_client_request_duration_seconds_count:rate5m{cluster="main", replica="a", job="demo"}')
            expect("recorded series by federation", "federation",
                   'job:http_client_request_duration_seconds_count:rate5m{cluster="main", job="demo"}')
            for server in ("store", "federation"):
                if servers[server].query('{__name__=~"http_client_.+", __name__!~".*:.*"}'):
                    wrong.append(f"{server}: there are series of instances, and not only recorded ones")
            wanted = ("/ticket", "HTTPClientTimeouts")
            try:
                until("notification", lambda: wanted in receiver.alerts, seconds=60)
            except TimeoutError as error:
                wrong.append(f"alertmanager: {error} of {wanted}, but of {sorted(receiver.alerts)}")
            wrong += [f"{name}: {rule}" for name in ("prometheus", "remote-write")
                      for rule in servers[name].unhealthy_rules()]
            text = get(f"{servers['prometheus'].url}/api/v1/targets") or ""
            wrong += [f"prometheus: {error}" for error in re.findall(r'"lastError":"([^"]+)"', text)]
        finally:
            for server in servers.values():
                server.stop()
            receiver.shutdown()
    return "a server with an Alertmanager, one that writes to a store, one that federates", wrong


def _copy(folder, ports):
    """The files with the ports that are free here, and without the waiting."""
    addresses = {"9464": "demo", "9090": "prometheus", "9091": "store", "9093": "alertmanager", "9465": "receiver"}
    changes = [(rf"localhost:{port}\b", f"127.0.0.1:{ports[name]}") for port, name in addresses.items()]
    changes += [(r"(scrape_interval|evaluation_interval): \w+", r"\1: 1s"), (r"group_wait: \w+", "group_wait: 0s"),
                (r"(?m)^ *for: \w+\n", ""), (r"rules/\*\.yml", f"{folder}/rules/*.yml"),
                (r"targets/\*\.json", f"{folder}/targets/*.json")]
    for path in [*PROMETHEUS.glob("*.yml"), *PROMETHEUS.glob("rules/*.yml"), *PROMETHEUS.glob("targets/*.json")]:
        text = path.read_text()
        for pattern, replacement in changes:
            text = re.sub(pattern, replacement, text)
        copy = folder / path.relative_to(PROMETHEUS)
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(text)
