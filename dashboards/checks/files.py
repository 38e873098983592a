"""What can be said of the files without a server."""

import re
import subprocess

import yaml

from stack.programs import DASHBOARDS
from stack.prometheus import native_histograms

from .panels import boards, panels

PROMETHEUS = DASHBOARDS / "prometheus"
# Behind the address that a rule records.
RUNBOOK = '{{ with query "session_tap:runbooks:info" }}{{ . | first | label "url" }}{{ end }}#'


def check(stage):
    wrong = []
    wrong += _run(DASHBOARDS / "generate", "--check")
    wrong += _unreadable()
    rules = sorted(PROMETHEUS.glob("rules/**/*.yml"))
    tests = sorted(PROMETHEUS.glob("tests/*.yml"))
    wrong += _run("promtool", "check", "rules", *rules)
    wrong += _run("promtool", "test", "rules", *tests)
    for name in ("prometheus.yml", "remote-write.yml", "federation.yml"):
        wrong += _run("promtool", "check", "config", PROMETHEUS / name)
    wrong += _native_histograms()
    wrong += _run("amtool", "check-config", PROMETHEUS / "alertmanager.yml")
    # Debian's promtool does not know the Kubernetes discovery.
    annotated = DASHBOARDS / "prometheus/kubernetes/scrape-annotated.yml"
    config = yaml.safe_load(annotated.read_text())
    for job in config["scrape_configs"]:
        job.pop("kubernetes_sd_configs")
    config["rule_files"] = [str(annotated.parent / one) for one in config["rule_files"]]
    (copy := stage.folder / annotated.name).write_text(yaml.safe_dump(config))
    wrong += _run("promtool", "check", "config", copy)
    documents = [*PROMETHEUS.glob("kubernetes/*.yml"), *DASHBOARDS.glob("grafana/provisioning/*/*.yml")]
    for path in documents:
        yaml.safe_load(path.read_text())
    alerts = [rule for path in rules for group in yaml.safe_load(path.read_text())["groups"]
              for rule in group["rules"] if "alert" in rule]
    wrong += [*_untested(alerts, tests), *_undocumented(alerts)]
    return f"{len(rules)} files of rules, {len(alerts)} alerts, {len(tests)} files of tests", wrong


def _run(*arguments):
    done = subprocess.run([str(one) for one in arguments], capture_output=True, text=True)
    return [] if done.returncode == 0 else [f"{arguments[0]}: {done.stdout}{done.stderr}".strip()]


def _native_histograms():
    """Which server is told what, and that the setting stands where the documentation of Prometheus has it ("Configuration": `global`,
    a boolean), once its mark is away. The promtool at hand may be older than the setting, and refuse it."""
    told = {version: native_histograms(version) for version in ((2, 42), (3, 0), (3, 7), (3, 8), (3, 9), (3, 14), (4, 0))}
    wrong = [f"Prometheus {version}: {features}, {setting}" for version, (features, setting) in told.items()
             if (bool(features), bool(setting)) != (version < (3, 8), version >= (3, 8))]
    setting = told[3, 9][1]
    text = (PROMETHEUS / "prometheus.yml").read_text().replace(f"# {setting}", setting)
    if yaml.safe_load(text)["global"].get("scrape_native_histograms") is not True:
        wrong.append(f"prometheus.yml has no '{setting}' in its global")
    if f"`{setting}`" not in (DASHBOARDS / "README.md").read_text():
        wrong.append(f"README.md has no '{setting}'")
    return wrong


def _unreadable():
    """Panels without a description or a unit, panels beyond the grid's 24 columns, and rows other than the first that are open."""
    for name, board in boards():
        rows = [panel for panel in board["panels"] if panel["type"] == "row"]
        if rows[0] != board["panels"][0] or [row["collapsed"] for row in rows] != [False] + [True] * (len(rows) - 1):
            yield f"{name}: the first row is to be open, and no other"
        for panel in panels(board):
            place = f"{name}, {panel['title']}"
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
    """Every alert leads to its section of the runbooks, and to panels that are there."""
    headings = re.findall(r"^#+ (.+)$", (DASHBOARDS / "runbooks.md").read_text(), re.MULTILINE)
    anchors = {heading.strip().lower().replace(" ", "-") for heading in headings}
    titles = {board["title"].removeprefix("SessionTap: "): {panel["title"] for panel in panels(board)} for _, board in boards()}
    for alert in alerts:
        name, annotations = alert["alert"], alert.get("annotations", {})
        if not annotations.get("summary") or annotations.get("runbook_url") != RUNBOOK + name.lower():
            yield f"{name}: no summary, or a runbook_url other than {RUNBOOK}{name.lower()}"
        if name.lower() not in anchors:
            yield f"{name} has no section in the runbooks"
        text = annotations.get("description", "")
        if "Look first at " not in text:
            yield f"{name} does not say what to look at first"
        for board in re.findall(r"on the (\w+) board", text):
            for title in set(re.findall('"(.+?)"', text.partition("Look first at ")[2])) - titles.get(board, set()):
                yield f"{name}: the board {board} has no {title}"
