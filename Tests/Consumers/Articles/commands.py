"""The commands of the articles that are no walk: each is run as far as a machine without daemons and other machines can."""

import os
import re
import shutil
import subprocess

from reader import Wrong, get
from stack.programs import Demo

# Commands that are a step of CI: what the step says, in one of these files.
STEPS = [".ci/run", "Tests/Scripts/README.md"]
# Commands that are not run, by their first words: why not.
LEFT_OUT = {
    ".ci/run": "this is a step of it",
    "docker": "needs a Docker engine",
    "Tests/Scripts/bench-endpoint": "needs a release build and a quiet machine; its first lines say how it is run",
}


class Commands:
    """Runs blocks. The demo, with its log, is started for the first block that needs it."""

    def __init__(self, reader, root):
        self.reader, self.root, self.demo = reader, root, None
        self.ci = "".join((root / path).read_text() for path in STEPS)
        reader.stop()

    def faults(self, block):
        """What is wrong with a block. A block that has to do with the log or the endpoint is run as a whole, any other line by line."""
        try:
            if re.search(r"requests\.jsonl|localhost:9464", block.text):
                self._on_the_demo(block.text)
            elif "victoria-metrics" in block.text:
                self._victoria(block.text)
            else:
                for line in block.text.replace("\\\n", " ").splitlines():
                    if command := re.sub(r"(^|\s+)#.*", "", line):
                        self._line(command)
        except Wrong as error:
            yield f"{block}: {error}"

    def _line(self, command):
        words = re.sub(r"^([A-Z_]+=\S+ )+", "", command).split()
        if reason := next((why for what, why in LEFT_OUT.items() if command == what or words[0] == what), None):
            return print(f"  not run: {command}: {reason}")
        if "session-tap-benchmarks" in command:
            listed = self._run(f"{self._product('session-tap-benchmarks')} {command.partition('session-tap-benchmarks')[2]} --list")
            return _check(listed.strip(), f"no benchmark of {command}")
        if built := re.fullmatch(r"swift build -c release .*--product (\S+)", command):
            # `shop` is the reader's; Tests/Scripts/run-static-in-chroot builds the demo by the same words.
            return _check(built[1] == "shop" and "--static-swift-stdlib" in command or f'name: "{built[1]}"' in self._text("Package.swift"),
                          f"no product {built[1]}")
        if words[0] == "apt-get":
            # Of the system: the image installs it by the same words, and CI what it needs by its own.
            return _check(f"RUN {command}\n" in self._text("dashboards/deploy/Dockerfile"), f"the image is not built by {command}")
        if command == "swift run session-tap demo":
            return _check('session-tap" demo' in self.ci, "CI runs no demo")
        if words[0] == "swift":
            return _check(" ".join(words[:2]) in self.ci, f"no step of CI runs {command}")
        if command == "dashboards/run":
            return self._runs(f"SESSION_TAP={self._product('session-tap')} {command}", self.root, lambda said, _: "the page" in said)
        if words[0] == "dashboards/simulate-fleet":
            # A small fleet: the last options count.
            said = self._run(f"SESSION_TAP={self._product('session-tap')} {command} --targets 3 --seconds 20 --demo-seconds 5")
            return _check("targets down                0" in said, f"a target is down: {said}")
        if words[0] == "python3" and "http.server" in command:
            return self._runs(command.replace("/tmp/documentation", str(self.reader.home)), self.root,
                              lambda *_: get("http://localhost:8000/"))
        if words[0] == "sed":
            return self._on_copies(command)
        if "/proc/PID/" in command:
            said = self._run(command.replace("PID", str(os.getpid())))
            return _check(re.match(r"python\S*: \S+\n", said), f"no names of threads, and where they wait: {said}")
        if command.startswith("./shop"):
            # A terminal's grep does not wait for a full buffer.
            return self._runs(command.replace("grep ", "grep --line-buffered "), self.reader.home / "built/debug", lambda said, _: "session-tap: " in said)
        if command.endswith("./worker"):
            shutil.copy(self.reader.home / "built/debug/shop", self.reader.home / "worker")
            return self._runs(command, self.reader.home, lambda *_: 'service_name="shop-worker"' in (get("http://localhost:9465/metrics") or ""))
        script = re.sub(r"^([A-Z_]+=\S+ )*(python3 |bash )?", "", command).split()[0]
        if (self.root / script).is_file() or script == "-m":
            return _check(" ".join(command.split()[-2:]) in self.ci or script in self.ci, f"no step of CI runs {command}")
        raise Wrong(f"no rule runs {command}")

    def _on_the_demo(self, text):
        """In a folder with a log, at an endpoint that serves it; what follows a file is ended."""
        if not self.demo:
            self.demo = self.reader.home / "demo"
            self.demo.mkdir()
            command = f"SESSION_TAP_SERVE_LOG=1 exec {self._product('session-tap')} demo --rate 50 --log requests.jsonl"
            self.reader.run(command, self.demo).until("lines", lambda: self._has_all_kinds())
        functions = 'tail() { timeout 3 tail "$@" || true; }; curl() { command curl --fail "$@"; }\n'
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", functions + text], cwd=self.demo, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120)
        # The articles' traces and clients are not the demo's: an answer to them is empty.
        if done.returncode or done.stderr and "curl" not in text or not done.stdout.strip() and not text.startswith("curl"):
            raise Wrong(f"exits with {done.returncode}: {(done.stdout + done.stderr)[-1000:]}")

    def _has_all_kinds(self):
        log = self.demo / "requests.jsonl"
        lines = log.read_text().splitlines() if log.exists() else []
        return len(lines) > 200 and any('"severity":"ERROR"' in line for line in lines) and any(
            re.search(r'"duration_s":[1-9]', line) for line in lines)

    def _victoria(self, text):
        """Both programs, as they are called here. A scrape configuration has to be there."""
        folder = self.reader.home / "victoria"
        (folder / "dashboards").mkdir(parents=True)
        (folder / "dashboards/prometheus").symlink_to(self.root / "dashboards/prometheus")
        (folder / "scrape.yml").write_text('scrape_configs: [{job_name: shop, static_configs: [{targets: ["localhost:9464"]}]}]\n')
        store, rules = re.fullmatch(r"(victoria-metrics .*)\n(vmalert .*\n.*)\n", text).groups()
        self.reader.run(store, folder).until("store", lambda: get("http://localhost:8428/health"))
        self._runs(rules, folder, lambda *_: "session-tap-requests" in (get("http://localhost:8880/api/v1/rules") or ""))

    def _on_copies(self, command):
        """A change of the rules and of their tests, which pass afterwards as before."""
        folder = self.reader.home / "copies"
        shutil.copytree(self.root / "dashboards/prometheus", folder / "dashboards/prometheus")
        before = {path: path.read_text() for path in folder.rglob("*.yml")}
        self._run(command, folder)
        _check(any(path.read_text() != text for path, text in before.items()), "it changes nothing")
        self._run("promtool test rules dashboards/prometheus/tests/*.yml", folder)

    def _runs(self, command, folder, is_there):
        """A command that does not end by itself, until what it is for is there."""
        program = self.reader.run(command, folder)
        program.until("what it is for", lambda: is_there(program.said(), program))
        self.reader.running.remove(program)
        program.stop()

    def _product(self, name):
        """What `swift build` has made of the package, as a step before this, or makes now."""
        if name == "session-tap":
            return Demo.binary()
        build = ["swift", "build", "--package-path", str(self.root), "--product", name]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
        return subprocess.run([*build, "--show-bin-path"], check=True, capture_output=True, text=True).stdout.strip() + f"/{name}"

    def _run(self, command, folder=None):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=folder or self.root, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300)
        _check(done.returncode == 0, f"{command} exits with {done.returncode}: {(done.stdout + done.stderr)[-1000:]}")
        return done.stdout

    def _text(self, path):
        return (self.root / path).read_text()


def _check(condition, message):
    if not condition:
        raise Wrong(message)
