"""Every query of every board, on a real Prometheus that scrapes the real demo: once with classic histograms, once
with native ones. Each has to return data."""

import json
import re
import time

from stack.programs import DASHBOARDS

VARIABLE = re.compile(r"\$(\{\w+(:\w+)?\}|\w+)")
VALUES = {"__rate_interval": "1m", "window": "1m", "__range": "5m"}


def check(stage):
    wrong, count = [], 0
    for form, server in ("classic", stage.classic), ("native", stage.native):
        stage.is_ready(server)
        for place, expression in queries():
            count += 1
            wrong += _answer(server, form, place, expression)
        wrong += _variables(server, form)
        wrong += [f"{form}: {rule}" for rule in server.unhealthy_rules() + server.doubly_recorded()]
    # Prometheus 2 keeps none of native histograms.
    if not stage.classic.api("query_exemplars", query="http_client_request_duration_seconds_bucket", start=time.time() - 60,
                             end=time.time()):
        wrong.append("no exemplars")
    return f"{count} queries", wrong


def boards():
    for path in sorted(DASHBOARDS.glob("grafana/boards/*.json")):
        yield path.stem, json.loads(path.read_text())


def panels(board):
    """All panels of a board, those of folded rows among them."""
    return [one for panel in board["panels"] for one in (panel, *panel.get("panels", []))]


def queries():
    """Every query with where it stands."""
    for name, board in boards():
        for panel in panels(board):
            for target in panel.get("targets", []):
                yield f"{name}, {panel['title']}", filled(target["expr"])


def filled(text):
    """The text with every variable in it: all of what there is, and a range of some scrapes."""
    return VARIABLE.sub(lambda found: VALUES.get(found[1].strip("{}").split(":")[0], ".*"), text)


def _answer(server, form, place, expression):
    try:
        return [] if server.series(expression) else [f"{form}: {place}: no data: {expression}"]
    except ValueError as error:
        return [f"{form}: {place}: {error}: {expression}"]


def _variables(server, form):
    for name, board in boards():
        for variable in board["templating"]["list"]:
            if variable["type"] != "query":
                continue
            parts = re.fullmatch(r"label_values\((.+), (\w+)\)", filled(variable["query"]))
            if not server.label_values(parts[2], parts[1]):
                yield f"{form}: {name}: ${variable['name']} has no values"
