"""A reader who does what an article says, block by block, in a folder of their own beside a copy of the package."""

import json
import os
import re
import signal
import subprocess
import time
import urllib.parse
import urllib.request

from blocks import markdown

# What the network decides: a request of an article fails here.
OF_THE_NETWORK = {"error_type", "http_response_status_code", "network_protocol_version"}


class Wrong(Exception):
    """What an article says and what happened."""


def until(what, question, seconds=120):
    end = time.monotonic() + seconds
    while not (answer := question()):
        if time.monotonic() > end:
            raise Wrong(f"no {what} within {seconds} s")
        time.sleep(0.2)
    return answer


def get(url):
    """The body of a 200, or None."""
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.read().decode()
    except OSError:
        return None


class Running:
    """A command that does not end by itself; its output and errors are in one file."""

    def __init__(self, command, folder, log):
        self.log = log
        with open(log, "wb") as output:
            self.process = subprocess.Popen(["bash", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=subprocess.STDOUT, start_new_session=True)

    def said(self):
        return self.log.read_text(errors="replace")

    def until(self, what, question, seconds=600):
        """Asks until there is an answer; fails once the command has ended or the time is over."""
        def answer():
            if self.process.poll() is not None and not (last := question()):
                raise Wrong(f"it ended without {what}: {self.said()[-2000:]}")
            return question() if self.process.poll() is None else last
        try:
            return until(what, answer, seconds)
        except Wrong as error:
            raise Wrong(f"{error}: {self.said()[-2000:]}") from None

    def stop(self):
        """Control-C in a terminal: a signal to the group."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
                self.process.wait(20)
            except ProcessLookupError:
                return
            except subprocess.TimeoutExpired:
                continue


class Reader:
    """Has an empty folder with `session-tap` in it. Leaving the `with` ends what runs."""

    def __init__(self, folder, root):
        self.home, self.root, self.cwd = folder / "home", root, None
        self.home.mkdir()
        (self.home / "session-tap").symlink_to(root)
        # What the first article builds: the commands of others run it.
        (self.home / "built").mkdir()
        self.running, self.app, self._asked, self._output = [], None, "", ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        while self.running:
            self.running.pop().stop()

    def run(self, command, folder):
        """Starts a command that does not end by itself."""
        self.running.append(Running(command, folder, self.home / f"{time.monotonic_ns()}.log"))
        return self.running[-1]

    def do(self, path):
        """Does an article, and returns how many of its blocks there were to do."""
        self.stop()
        before = set(self.home.iterdir())
        self.cwd, count, texts = self.home, 0, _texts(path.read_text())
        for block in markdown.of_text(path, self.root)[0]:
            before_it = texts[block.number - 1].strip().rpartition("\n\n")[2]
            written = re.match(r"Write `([^`]+)`", before_it)
            try:
                if changed := re.match(r"Change the app's URL to `([^`]+)`", before_it):
                    self._change_url(changed[1])
                if written:
                    (self.cwd / written[1]).parent.mkdir(parents=True, exist_ok=True)
                    (self.cwd / written[1]).write_text(block.text)
                elif block.language in ("sh", "text", "prometheus", "promql"):
                    getattr(self, f"_{block.language}")(block.text)
                else:
                    continue
            except Wrong as error:
                raise Wrong(f"{block}: {error}") from None
            count += 1
        # A reader does one article after the other: none writes into the folder of another.
        if not (self.cwd != self.home and self.cwd not in before):
            raise Wrong(f"{path.name}: its folder is {self.cwd}, which was there before")
        return count

    def _sh(self, text):
        if re.search(r"\bswift run$", text, re.MULTILINE):
            if self.app:
                self.app.stop()
            app = self.app = self.run(text, self.cwd)
            app.until("address of its metrics", lambda: "session-tap: metrics at http://127.0.0.1:9464/metrics" in app.said())
        elif text.startswith("python3 -c"):
            self.run(text, self.cwd)
        elif text.startswith("prometheus "):
            server = self.run(text, self.cwd)
            server.until("ready Prometheus", lambda: get("http://localhost:9090/-/ready"))
        elif re.match(r"curl|tail", text):
            # The app has just started: a reader calls it again until there is a request.
            self._asked = text
            until("output", lambda: self._ends(text)[0] == 0 and self._output.strip())
            if "jq" in text:
                line = json.loads(self._output)
                if not line["url.full"].endswith("?token=REDACTED") or line["duration_s"] < 0:
                    raise Wrong(f"a line of another kind: {line}")
        else:
            status, errors = self._ends(text)
            if status:
                raise Wrong(f"exits with {status}: {(self._output + errors)[-3000:]}")
            if text == "swift test\n":
                tests = sum(path.read_text().count("@Test") for path in self.cwd.glob("Tests/**/*.swift"))
                if f"Test run with {tests} tests" not in self._output + errors:
                    raise Wrong(f"not {tests} tests: {self._output[-1000:]}")
        # A build belongs to the path of its folder: another folder has its own.
        if self.cwd.name == "shop" and not (self.cwd / ".build").exists():
            (self.cwd / ".build").symlink_to(self.home / "built")

    def _ends(self, text):
        """Runs commands to their end, in the folder where the last ones were. Returns the status and the errors."""
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", f"trap 'pwd > \"$SESSION_TAP_FOLDER\"' EXIT\n{text}"], cwd=self.cwd,
                              env=os.environ | {"SESSION_TAP_FOLDER": str(self.home / "folder")}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=1200)
        self.cwd = self.home.__class__((self.home / "folder").read_text().strip())
        self._output = done.stdout
        return done.returncode, done.stderr

    def _change_url(self, url):
        for file in self.cwd.glob("Sources/*/main.swift"):
            file.write_text(re.sub(r'(?<=URL\(string: ")[^"]*', lambda _: url, file.read_text()))

    def _text(self, text):
        """The last command, asked again, prints in the end what the article shows, but for the numbers."""
        answers = []

        def shown():
            self._ends(self._asked)
            answers.append(re.sub(r"\d+", "0", self._output))
            return answers[-1] == re.sub(r"\d+", "0", text)
        try:
            until("such answer", shown, 50)
        except Wrong as error:
            raise Wrong(f"{error}, but {list(dict.fromkeys(answers))}") from None

    def _prometheus(self, text):
        """The output of the last command has the series that the article shows, but for what the network decides."""
        shown, seen = _series(text), [_series(line) for line in self._output.splitlines() if "{" in line]
        if shown not in seen:
            raise Wrong(f"shows {shown}, and there is {seen}")

    def _promql(self, text):
        for query in text.splitlines():
            address = "http://localhost:9090/api/v1/query?" + urllib.parse.urlencode({"query": query})
            until(f"answer to {query}", lambda: [one for one in json.loads(get(address) or '{"data": {"result": []}}')["data"]["result"]
                                                 if one["value"][1] != "NaN"])


def _series(line):
    """The name and the labels of a line of an exposition, without those of the network."""
    labels = dict(re.findall(r'(\w+)="([^"]*)"', line))
    return line.partition("{")[0], tuple(sorted((name, value) for name, value in labels.items() if name not in OF_THE_NETWORK))


def _texts(article):
    """What stands before each fenced block, since the one before."""
    return re.split(r"^```[^\n]*\n.*?^```$", article, flags=re.MULTILINE | re.DOTALL)[:-1]
