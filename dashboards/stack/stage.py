"""What the checks share: demos, and the servers that ../prometheus configures around them."""

import json
import re
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

from .programs import DASHBOARDS, Demo, Program, free_port, until
from .prometheus import Prometheus, native_histograms, version
from .receiver import Receiver
from .victoria import VictoriaMetrics

CONFIGURATIONS = DASHBOARDS / "prometheus"
# Of the demo that comes to an end.
REQUESTS = 500
# The origin's rarest answer: once it is there, so is every other. A wait for a connection, which the traffic brings by chance. The
# objectives have been recorded for some seconds, and so has what they are recorded from.
READY = ('sum(rate(http_client_request_duration_seconds_count{error_type="connect"}[1m])) > 0',
         'sum(rate(http_client_request_phase_duration_seconds_count{phase="queue"}[1m])) > 0',
         "count_over_time(job_client:http_client_requests_bad:ratio_rate3d[30s]) > 4",
         "count_over_time(job:http_server_requests_bad:ratio_rate3d[30s]) > 4")


class Stage:
    """Each program is started when it is first asked for, and ends with the `with`.

    The servers read the committed configurations with other ports and paths, and with quicker clocks."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self._programs = ExitStack()
        self.ports = {name: free_port() for name in ("prometheus", "store", "alertmanager")}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._programs.close()

    def run(self, program):
        """The program, which ends with the stage."""
        return self._programs.enter_context(program)

    @cached_property
    def demo(self):
        """Makes requests of all kinds, until the end."""
        return self.run(Demo(self.folder, rate=30))

    @cached_property
    def finished(self):
        """The same in the version before, and only so many requests, which need not be over yet. VictoriaMetrics scrapes them."""
        demo = self.run(Demo(self.folder, rate=40, options=["--requests", str(REQUESTS)], version="1.4.1"))
        self.victoria = self.run(VictoriaMetrics(demo.address, self.folder))
        return demo

    @cached_property
    def healthy(self):
        """Makes requests of which none fails, is slow or cancelled."""
        (folder := self.folder / "healthy").mkdir()
        return self.run(Demo(folder, rate=20, options=["--faults", "off"]))

    @cached_property
    def receiver(self):
        """Takes the notifications."""
        return self.run(Receiver())

    @cached_property
    def alertmanager(self):
        return self.run(Program("prometheus-alertmanager", [
            f"--config.file={self.configurations}/alertmanager.yml", f"--storage.path={self.folder}/alerts",
            f"--web.listen-address=127.0.0.1:{self.ports['alertmanager']}", "--cluster.listen-address="], self.folder))

    @cached_property
    def native(self):
        """Scrapes the demo and, from a file of targets, the healthy one, with native histograms alone. Tells the Alertmanager."""
        # An alert that no Alertmanager takes is told again a minute later.
        self.alertmanager.check()
        features, _ = native_histograms(version())
        return self.prometheus("prometheus.yml", self.ports["prometheus"], ("exemplar-storage", *features))

    @cached_property
    def classic(self):
        """Scrapes the demo and the finished one, without native histograms. Writes to the store."""
        return self.prometheus("remote-write.yml")

    def prometheus(self, configuration, *arguments):
        return self.run(Prometheus((self.configurations / configuration).read_text(), self.folder, *arguments))

    def is_ready(self, server):
        """Waits until there is traffic of all kinds, and what the rules record of it."""
        for expression in READY:
            self.demo.until(expression, lambda: server.query(expression))
        until("evaluation of all rules", lambda: not server.unhealthy_rules())

    @cached_property
    def configurations(self):
        """The files with the ports and paths that are free here, and without the waiting."""
        folder = self.folder / "configurations"
        ports = {"9090": self.ports["prometheus"], "9091": self.ports["store"], "9093": self.ports["alertmanager"],
                 "9465": self.receiver.server_port}
        changes = [(rf"localhost:{port}\b", f"127.0.0.1:{free}") for port, free in ports.items()]
        changes += [(r"(scrape_interval|evaluation_interval): \w+", r"\1: 2s"), (r"group_wait: \w+", "group_wait: 0s"),
                    (r"(?m)^ *for: \w+\n", ""), (r"(rules/[\w*/]+\.yml|targets/\*\.json)", rf"{folder}/\1")]
        if setting := native_histograms(version())[1]:
            changes.append((f"# {setting}", setting))
        targets = {"shop.json": [self.healthy], "remote-write.yml": [self.demo, self.finished]}
        for path in [*CONFIGURATIONS.glob("*.yml"), *CONFIGURATIONS.glob("rules/**/*.yml"), *CONFIGURATIONS.glob("targets/*.json")]:
            addresses = [demo.address for demo in targets.get(path.name, [self.demo])]
            text = path.read_text().replace('"localhost:9464"', json.dumps(addresses)[1:-1])
            for pattern, replacement in changes:
                text = re.sub(pattern, replacement, text)
            (copy := folder / path.relative_to(CONFIGURATIONS)).parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text)
        return folder
