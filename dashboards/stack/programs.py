"""Programs that are started, waited for and ended."""

import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

DASHBOARDS = Path(__file__).resolve().parent.parent
PACKAGE = DASHBOARDS.parent


def free_port():
    """A port that was free a moment ago: these programs cannot say which one they took."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def is_free(port):
    """Whether no program listens at a port of this machine."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def until(what, question, seconds=180):
    """Asks until there is an answer, and gives up when the time is over."""
    end = time.monotonic() + seconds
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() > end:
            raise TimeoutError(f"no {what} within {seconds} s")
        time.sleep(0.3)


def get(url, seconds=60, headers=None):
    """The body of an answer, or None without an answer."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers or {}), timeout=seconds) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        return None if error.code in (404, 503) else error.read().decode()
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return None


class Program:
    """One program; leaving the `with` ends it."""

    def __init__(self, name, arguments, folder, environment=None, descriptors=()):
        path = shutil.which(str(name))
        if not path:
            raise SystemExit(f"{name} is not installed")
        self.log = Path(folder) / f"{Path(name).name}-{time.monotonic_ns()}.log"
        with open(self.log, "wb") as output:
            self.process = subprocess.Popen([path, *arguments], stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=subprocess.STDOUT, env={**os.environ, **(environment or {})},
                                            pass_fds=descriptors)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def check(self):
        """Fails if the program has ended by itself."""
        if self.process.poll() is not None:
            raise SystemExit(f"{self.process.args[0]} has ended:\n{self.log.read_text()[-2000:]}")


class Demo(Program):
    """`session-tap demo`, built if need be. Its lines are appended to `requests.jsonl` in the folder."""

    def __init__(self, folder, port=0, rate=20, options=(), version="1.4.2"):
        # The folder may be on a disk.
        self.black_box = Path(f"/dev/shm/session-tap-demo-{os.getpid()}-{time.monotonic_ns()}")
        super().__init__(self.binary(), ["demo", "--port", str(port), "--rate", str(rate),
                                         "--log", str(Path(folder) / "requests.jsonl"), *options], folder,
                         environment={"OTEL_SERVICE_NAME": "session-tap-demo",
                                      "OTEL_RESOURCE_ATTRIBUTES": f"service.version={version}",
                                      "SESSION_TAP_BLACK_BOX": str(self.black_box)})
        self.url = until("start of the demo", self._url)
        self.address = self.url.split("/")[2]

    def stop(self):
        super().stop()
        self.black_box.unlink(missing_ok=True)

    def until(self, what, question, seconds=180):
        """Asks until there is an answer, and gives up when the time is over or the demo has ended."""
        def answer():
            self.check()
            return question()
        try:
            return until(what, answer, seconds)
        except TimeoutError as error:
            metrics = get(self.url) or "none"
            counts = [line for line in metrics.splitlines() if line.startswith(("session_tap_started", "session_tap_ended"))]
            raise TimeoutError(f"{error}; the demo runs, and has counted: {', '.join(counts) or metrics[:200]}") from None

    def finished(self, requests):
        """Waits until it has made all of its requests, and serves none any more."""
        def is_over():
            text = get(self.url) or ""

            def total(metric):
                return sum(float(line.rpartition(" ")[2]) for line in text.splitlines()
                           if line.startswith((metric + "{", metric + " ")))
            return total("session_tap_ended_requests_total") == requests and total("http_server_active_requests") == 0
        self.until(f"end of {requests} requests", is_over)

    @staticmethod
    def binary():
        """$SESSION_TAP, or what `swift build` makes of this package."""
        if given := os.environ.get("SESSION_TAP"):
            return given
        build = ["swift", "build", "--package-path", str(PACKAGE), "--product", "session-tap"]
        subprocess.run(build, check=True)
        folder = subprocess.run([*build, "--show-bin-path"], check=True, capture_output=True, text=True).stdout.strip()
        return f"{folder}/session-tap"

    def _url(self):
        self.check()
        lines = self.log.read_text().splitlines()
        started = any(line.startswith("origin") for line in lines)
        return next((line.split()[1] for line in lines if started and line.startswith("metrics")), None)
