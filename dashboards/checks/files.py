"""What can be said of the files without a server."""

import json
import re
import shutil
import subprocess

import yaml

from stack.classic import write_classic
from stack.programs import DASHBOARDS

PROMETHEUS = DASHBOARDS / "prometheus"


def check(folder):
    wrong = []
    wrong += _run(DASHBOARDS / "generate", "--check")
    wrong += _unreadable()
    rules = sorted(PROMETHEUS.glob("rules/*.yml"))
    tests = sorted(PROMETHEUS.glob("tests/*.yml"))
    wrong += _run("promtool", "check", "rules", *rules)
    wrong += _run("promtool", "test", "rules", *tests)
    # The rules without native histograms do the same.
    copy = DASHBOARDS.__class__(folder) / "classic"
    write_classic(copy)
    shutil.copytree(PROMETHEUS / "tests", copy / "tests")
    wrong += _run("promtool", "test", "rules", *sorted(copy.glob("tests/*.yml")))
    for name in ("prometheus.yml", "remote-write.yml", "federation.yml"):
        wrong += _run("promtool", "check", "config", PROMETHEUS / name)
    wrong += _run("amtool", "check-config", PROMETHEUS / "alertmanager.yml")
    # Debian's promtool does not know the Kubernetes discovery.
    annotated = DASHBOARDS / "prometheus/kubernetes/scrape-annotated.yml"
    config = yaml.safe_load(annotated.read_text())
    for job in config["scrape_configs"]:
        job.pop("kubernetes_sd_configs")
    config["rule_files"] = [str(annotated.parent / one) for one in config["rule_files"]]
    (copy := DASHBOARDS.__class__(folder) / annotated.name).write_text(yaml.safe_dump(config))
    wrong += _run("promtool", "check", "config", copy)
    documents = [*PROMETHEUS.glob("kubernetes/*.yml"), *DASHBOARDS.glob("grafana/provisioning/*/*.yml")]
    for path in documents:
        yaml.safe_load(path.read_text())
    alerts = [rule for path in rules for group in yaml.safe_load(path.read_text())["groups"]
              for rule in group["rules"] if "alert" in rule]
    wrong += _untested(alerts, tests) + _undocumented(alerts)
    return f"{len(rules)} files of rules, {len(alerts)} alerts, {len(tests)} files of tests", wrong


def _run(*arguments):
    done = subprocess.run([str(one) for one in arguments], capture_output=True, text=True)
    return [] if done.returncode == 0 else [f"{arguments[0]}: {done.stdout}{done.stderr}".strip()]


def _unreadable():
    """Panels without a title, a description or a unit, and panels beyond the grid's 24 columns."""
    for path in sorted(DASHBOARDS.glob("grafana/boards/*.json")):
        for panel in json.loads(path.read_text())["panels"]:
            place = f"{path.stem}, {panel['title']}"
            if panel["gridPos"]["x"] + panel["gridPos"]["w"] > 24:
                yield f"{place}: beyond the grid"
            if panel["type"] != "row" and not (panel.get("description") and panel["fieldConfig"]["defaults"].get("unit")):
                yield f"{place}: no description or no unit"


def _untested(alerts, paths):
    """Every alert has a test in which it fires, and one in which it does not."""
    seen = {True: set(), False: set()}
    for path in paths:
        for test in yaml.safe_load(path.read_text())["tests"]:
            for case in test.get("alert_rule_test", []):
                seen[bool(case["exp_alerts"])].add(case["alertname"])
    return [f"{alert['alert']} has no test in which it {'fires' if fires else 'does not fire'}"
            for alert in alerts for fires in (True, False) if alert["alert"] not in seen[fires]]


def _undocumented(alerts):
    headings = re.findall(r"^#+ (.+)$", (DASHBOARDS / "README.md").read_text(), re.MULTILINE)
    anchors = {heading.strip().lower().replace(" ", "-") for heading in headings}
    wrong = []
    for alert in alerts:
        annotations = alert.get("annotations", {})
        wrong += [f"{alert['alert']} has no {name}" for name in ("summary", "description", "runbook")
                  if not annotations.get(name)]
        if annotations.get("runbook", "").partition("#")[2] not in anchors:
            wrong.append(f"{alert['alert']} has no section in the README: {annotations.get('runbook')}")
    return wrong
