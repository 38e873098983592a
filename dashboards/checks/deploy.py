"""What deployments are made of: the unit and its rotation, the objects of Kubernetes. What can be said of them without systemd as
process 1 and without a cluster. The image is Tests/Scripts/run-static-in-chroot's."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import kubernetes_validate
import yaml

from stack.programs import DASHBOARDS, PACKAGE, Demo, Program, until

DEPLOY = DASHBOARDS / "deploy"
DEPLOYMENT = DASHBOARDS / "prometheus/kubernetes/deployment.yml"
# What the endpoint serves to a probe, and what it is asked with.
PROBES = {"startupProbe": "/healthz", "livenessProbe": "/healthz"}
# Tap.shutdown() waits three times at most: for observers, for the log, for the endpoint.
SHUTDOWN_TIMEOUTS = 3
# systemd's tenths of a point: 13 here, and 96 for a service without settings.
EXPOSURE = 20
DYNAMIC_USER = 65532
KUBERNETES = "1.30"


def check(stage):
    folder = stage.folder
    wrong = deployment(DEPLOYMENT.read_text())
    wrong += _unit(folder) + _rotation(folder)
    return "a unit, a rotation of its log, a deployment", wrong


def deployment(text):
    """The schema of the first Kubernetes that has all fields, and those that depend on each other, on the endpoint and on the image."""
    whole = yaml.safe_load(text)
    try:
        kubernetes_validate.validate(whole, KUBERNETES, strict=True)
    except kubernetes_validate.ValidationError as error:
        return [f"{DEPLOYMENT.name}: {'.'.join(map(str, error.path))}: {error.message}"]
    pod = whole["spec"]["template"]
    spec, notes = pod["spec"], pod["metadata"]["annotations"]
    container = spec["containers"][0]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    variables = {variable["name"]: variable["value"] for variable in container["env"]}
    wrong = []

    def expect(condition, what):
        if not condition:
            wrong.append(f"{DEPLOYMENT.name}: {what}")

    for name, path in PROBES.items():
        probe = container.get(name, {})
        request = probe.get("httpGet", {})
        expect(request.get("path") == path and request.get("port") in ports, f"{name} does not ask {path} of a port by name")
        expect(probe.get("timeoutSeconds", 1) < probe.get("periodSeconds", 10) or name == "startupProbe",
               f"{name} waits for longer than its period")
    expect(notes["prometheus.io/port"] == str(ports["metrics"]), "the annotation names another port than the container")
    expect(variables.get("OTEL_EXPORTER_PROMETHEUS_HOST") == "0.0.0.0", "the kubelet cannot reach the endpoint")
    expect(ports["metrics"] == int(variables.get("OTEL_EXPORTER_PROMETHEUS_PORT", 9464)), "the tap has another port")

    configuration = (PACKAGE / "Sources/SessionTap/Tap+Configuration.swift").read_text()
    timeout = int(re.search(r"shutdownTimeout = Duration\.seconds\((\d+)\)", configuration)[1])
    pause = container["lifecycle"]["preStop"].get("sleep", {}).get("seconds")
    expect(pause, "preStop does not sleep: an exec needs a shell, which the image has not")
    expect(spec["terminationGracePeriodSeconds"] > (pause or 0) + SHUTDOWN_TIMEOUTS * timeout,
           "no time for requests between preStop and the tap's shutdown")

    security = container["securityContext"]
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    volumes = {volume["name"] for volume in spec["volumes"]}
    expect(set(mounts.values()) == volumes, "volumes and mounts differ")
    expect(not security["readOnlyRootFilesystem"] or "/tmp" in mounts, "a download cannot make its file")
    in_memory = {volume["name"] for volume in spec["volumes"] if volume.get("emptyDir", {}).get("medium") == "Memory"}
    box = variables.get("SESSION_TAP_BLACK_BOX")
    expect(not box or any(box.startswith(mount + "/") and name in in_memory for mount, name in mounts.items()),
           "the black box is not in memory that outlives the container")
    log = variables.get("SESSION_TAP_LOG", "off")
    expect(not log.startswith("/") or any(log.startswith(mount + "/") for mount in mounts), "the log cannot be written")
    expect(spec["securityContext"]["runAsNonRoot"] and not security["allowPrivilegeEscalation"], "it may be root")
    return wrong


def _unit(folder):
    """systemd reads the unit, and rates its exposure."""
    program = shutil.which("true")
    text = (DEPLOY / "shop.service").read_text()
    (unit := folder / "shop.service").write_text(re.sub(r"(?m)^ExecStart=/usr/bin/shop$", f"ExecStart={program}", text))
    if f"ExecStart={program}" not in unit.read_text():
        return ["shop.service: its program is another than /usr/bin/shop"]
    wrong = []
    for arguments in (["verify"], ["security", "--offline=true", f"--threshold={EXPOSURE}", "--no-pager"]):
        done = subprocess.run(["systemd-analyze", *arguments, str(unit)], capture_output=True, text=True)
        # `verify` warns of unknown settings, and ends well.
        complaints = [line for line in done.stderr.splitlines() if str(unit) in line or unit.name in line]
        if done.returncode or complaints:
            wrong.append(f"shop.service: {arguments[0]}: {done.stdout[-500:]}{done.stderr}")
    settings = dict(re.findall(r"(?m)^(\w+)=(.*)$", text))
    log = re.search(r"SESSION_TAP_LOG=(\S+)", text)[1]
    if Path(log).parent != Path("/var/log", settings["LogsDirectory"]):
        wrong.append(f"shop.service: {log} is not in its LogsDirectory")
    if f"\n{log} {{" not in (DEPLOY / "shop.logrotate").read_text():
        wrong.append(f"shop.logrotate: it does not rotate {log}")
    return wrong


def _rotation(folder):
    """logrotate, as root, rotates the log of a user whom it does not know, in the folders that systemd makes for DynamicUser."""
    if os.geteuid() != 0:
        return ["rotation: root is needed, to be two users"]
    folder.chmod(0o755)
    private, link = folder / "private", folder / "shop"
    private.mkdir(mode=0o700)
    (private / "shop").mkdir(mode=0o750)
    os.chown(private / "shop", DYNAMIC_USER, DYNAMIC_USER)
    link.symlink_to(private / "shop")
    log = link / "requests.jsonl"
    text = (DEPLOY / "shop.logrotate").read_text().replace("/var/log/shop/requests.jsonl", str(log))
    (configuration := folder / "shop.logrotate").write_text(text)
    configuration.chmod(0o644)
    # Only root gets through the private folder, so systemd mounts the service's own where the service sees it.
    (folder / "view/shop").mkdir(parents=True)
    view = ["unshare", "--mount", "bash", "-c", 'mount --bind "$1/private/shop" "$1/view/shop" && '
            'mount --rbind "$1/view" /var/log && exec setpriv --reuid "$2" --regid "$2" --clear-groups "${@:3}"',
            "-", str(folder), str(DYNAMIC_USER)]
    arguments = ["demo", "--port", "0", "--rate", "100", "--log", "/var/log/shop/requests.jsonl"]
    with Program(view[0], [*view[1:], _reachable(folder), *arguments], folder) as demo:
        try:
            until("lines", lambda: log.exists() and log.stat().st_size > 10_000)
            done = subprocess.run(["logrotate", "--force", "--state", folder / "state", configuration],
                                  capture_output=True, text=True)
            if done.returncode or done.stderr:
                return [f"logrotate: {done.stdout}{done.stderr}"]
            until("lines of the next file", lambda: log.exists() and log.stat().st_size > 0)
        except TimeoutError as error:
            return [f"rotation: {error}: {demo.log.read_text()[-1000:]}"]
        demo.process.send_signal(signal.SIGTERM)
        if (status := demo.process.wait(60)) != 0:
            return [f"rotation: by SIGTERM the demo ended with {status}"]
        # Those that are made, and those that are served.
        requests = sum(int(re.findall(rf"(\d+) {kind}", demo.log.read_text())[-1]) for kind in ("requests", "served"))
    files = [log, log.with_name("requests.jsonl.1")]
    lines = sum(len(path.read_text().splitlines()) for path in files)
    wrong = [] if lines == requests else [f"rotation: {lines} lines of {requests} requests"]
    for path in files:
        status = path.stat()
        if status.st_uid != DYNAMIC_USER or status.st_mode & 0o777 != 0o640:
            wrong.append(f"rotation: {path.name} is of user {status.st_uid} with mode {status.st_mode & 0o777:o}")
    return wrong


def _reachable(folder):
    """The demo's program where any user gets to it."""
    copy = folder / "session-tap"
    shutil.copy(Demo.binary(), copy)
    copy.chmod(0o755)
    return str(copy)
