"""What the checks of the consumers share: processes that end with the check, a load that ends without a request under
way, and a Prometheus."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import typing
import urllib.error
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent


class Failed(Exception):
    """What is wrong, and what to look at."""


def check(condition, message):
    if not condition:
        raise Failed(message)


def step(text):
    print(f"  {text}", flush=True)


def main(body):
    """Runs a check in a folder of its own, and says in one line what went wrong. What it started ends with it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with tempfile.TemporaryDirectory(prefix="session-tap-") as folder:
            body(pathlib.Path(folder))
    except (Failed, subprocess.SubprocessError, OSError) as error:
        sys.exit(f"FAILED: {error}")


def wait_until(what, condition, seconds=60, pause=0.05):
    """The first result of the condition that counts as true."""
    deadline = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise Failed(f"waited {seconds} s in vain for {what}")
        time.sleep(pause)


def listening_ports(process):
    """The ports of IPv4 at which a process listens (proc_pid_fd(5), proc_pid_net(5))."""
    folder = pathlib.Path(f"/proc/{process.pid}")
    with contextlib.suppress(OSError):
        sockets = {os.readlink(link) for link in (folder / "fd").iterdir()}
        lines = [line.split() for line in (folder / "net/tcp").read_text().splitlines()[1:]]
        return {int(line[1].split(":")[1], 16) for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in sockets}
    return set()


class Server:
    """A program that serves at a free port; with a tap it says on stderr where its metrics are."""

    def __init__(self, command, environment=None, has_tap=False, output=None, seconds=60):
        self.name = pathlib.Path(command[0]).name
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [str(part) for part in command], stdout=output, stderr=self.errors,
            env=os.environ | {"PORT": "0", "SESSION_TAP_PORT": "0"} | (environment or {}))
        try:
            self.ports = wait_until(f"{self.name} to serve", lambda: self._ports(has_tap), seconds, pause=0.002)
        except Failed:
            self.stop()
            raise

    def _ports(self, has_tap):
        said = os.pread(self.errors.fileno(), 1 << 16, 0).decode()
        check(self.process.poll() is None, f"{self.name} ended: {said}")
        address = re.search(r"metrics at http://127\.0\.0\.1:(\d+)/metrics\n", said)
        metrics = int(address[1]) if address else None
        app = listening_ports(self.process) - {metrics}
        return {"app": app.pop(), "metrics": metrics} if app and has_tap == bool(metrics) else None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.ports['app']}"

    def terminate(self, seconds=60):
        """SIGTERM, as a service manager sends it: the exit status."""
        self.process.terminate()
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.name} still runs {seconds} s after SIGTERM") from None

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self.errors.close()


def build(configuration):
    """Builds the apps, and gives the folder of the products."""
    flags = (HERE / "flags").read_text().split() if configuration == "debug" else []
    # The folder may keep the plan of another package, which shares it.
    command = ["swift", "build", "-c", configuration, *flags, "--disable-build-manifest-caching", "--package-path", str(HERE)]
    for product in ([], ["--product", "hummingbird-app"]):
        subprocess.run([*command, *product, "-q"], check=True, stdout=sys.stderr)
    shown = subprocess.run([*command, "--show-bin-path"], check=True, capture_output=True, text=True)
    return pathlib.Path(shown.stdout.strip())


def fetch(url):
    with urllib.request.urlopen(url, timeout=60) as response:
        return response.read().decode()


def answer(url):
    """The status of an answer, also of one that tells of an error."""
    try:
        with urllib.request.urlopen(url, timeout=60) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code


class Load(typing.NamedTuple):
    count: int
    rate: float


def wrk(url, seconds, connections=8, threads=2):
    """A load of wrk: how many requests there were, and how many a second."""
    command = ["wrk", f"-t{threads}", f"-c{connections}", f"-d{seconds}s", url]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    check("Non-2xx" not in output and "Socket errors" not in output, f"wrk met errors at {url}:\n{output}")
    count, rate = re.search(r"(\d+) requests in", output), re.search(r"Requests/sec:\s+([0-9.]+)", output)
    return Load(int(count.group(1)), float(rate.group(1)))


def exact_load(url, paths, seconds, connections=4):
    """A load of wrk that stops between two requests: how many of each path were answered with 200."""
    command = ["wrk", f"-t{connections}", f"-c{connections}", "-d300s", "--timeout", "30s",
               "-s", str(HERE / "exact-load.lua"), url, "--", str(seconds), *paths]
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            lines.append(line)
            if line == "stopped\n" and lines.count(line) == connections:
                process.send_signal(signal.SIGINT)
    output = "".join(lines)
    check(process.returncode == 0 and lines.count("stopped\n") == connections, f"wrk did not stop:\n{output}")
    counts = json.loads(lines[-1])
    check(counts.pop("others") == 0, f"not every answer was a 200:\n{output}")
    check(all(counts[path] > 0 for path in paths), f"a path was never asked for: {counts}")
    return counts


@contextlib.contextmanager
def prometheus(folder, targets):
    """A Prometheus that scrapes twice a second. Gives a function that asks it for a number."""
    (folder / "prometheus.yml").write_text(json.dumps({"scrape_configs": [
        {"job_name": name, "scrape_interval": "500ms", "scrape_timeout": "500ms",
         "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]} for name, port in targets.items()]}))
    errors = (folder / "prometheus.log").open("w")
    process = subprocess.Popen(
        ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
         "--web.listen-address=127.0.0.1:0", "--enable-feature=exemplar-storage"], stderr=errors)
    try:
        def address():
            check(process.poll() is None, f"prometheus ended: {(folder / 'prometheus.log').read_text()}")
            return re.search(r'msg="Listening on" address=(\S+)', (folder / "prometheus.log").read_text())

        base = f"http://{wait_until('Prometheus', address).group(1)}/api/v1/query"

        def query(text):
            with contextlib.suppress(urllib.error.URLError, ConnectionError):
                answer = json.loads(fetch(f"{base}?{urllib.parse.urlencode({'query': text})}"))
                result = answer["data"]["result"]
                return float(result[0]["value"][1]) if result else None
            return None

        yield query
    finally:
        process.terminate()
        process.wait()
        errors.close()
