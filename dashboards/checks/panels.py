"""Every query of every board and console, on a real Prometheus that scrapes the real demo: once with classic
histograms, once with native ones. Each has to return data."""

import json
import re
import time

from stack.programs import DASHBOARDS, Demo, get
from stack.prometheus import Prometheus, config

# What only one of the two servers can show.
OTHER_FORM = {"classic": "(native)", "native": "(classic buckets)"}
VARIABLE = re.compile(r"\$(\{\w+(:\w+)?\}|\w+)")
VALUES = {"__rate_interval": "15s", "window": "15s", "__range": "5m", "__interval": "5s"}
# The origin's rarest answer: once it is there, so is every other.
READY = 'sum(rate(http_client_request_duration_seconds_count{error_type="connect"}[15s]))' \
    ' or sum(histogram_count(rate(http_client_request_duration_seconds{error_type="connect"}[15s])))'


def check(folder):
    wrong, count = [], 0
    with Demo(folder, rate=100) as demo:
        scraping = config("demo", [{"targets": [demo.address]}])
        servers = {
            "classic": Prometheus(scraping, folder),
            "native": Prometheus(scraping, folder, features=("exemplar-storage", "native-histograms")),
        }
        try:
            for server in servers.values():
                demo.until("traffic of all kinds", lambda: any(server.query(READY).values()))
                demo.until("recorded objective", lambda: not server.unhealthy_rules()
                           and server.query("job_client:http_client_requests_bad:ratio_rate3d")
                           and server.query("job:http_server_requests_bad:ratio_rate3d"))
            # A rate needs two scrapes, a graph some more.
            time.sleep(5)
            for form, server in servers.items():
                for place, expression in _queries():
                    if OTHER_FORM[form] in place:
                        continue
                    count += 1
                    wrong += _answer(server, form, place, expression)
                wrong += _variables(server, form)
                wrong += [f"{form}: {rule}" for rule in server.unhealthy_rules()]
                if not server.api("query_exemplars", query="http_client_request_duration_seconds_bucket"
                                  if form == "classic" else "http_client_request_duration_seconds",
                                  start=time.time() - 60, end=time.time()) and form == "classic":
                    wrong.append(f"{form}: no exemplars")
                for page in sorted(DASHBOARDS.glob("consoles/*.html")):
                    text = get(f"{server.url}/consoles/{page.name}") or ""
                    if "</html>" not in text or "error executing template" in text:
                        wrong.append(f"{form}: {page.name}: {text[-300:]}")
        finally:
            for server in servers.values():
                server.stop()
    return f"{count} queries", wrong


def boards():
    for path in sorted(DASHBOARDS.glob("grafana/boards/*.json")):
        yield path.stem, json.loads(path.read_text())


def _queries():
    for name, board in boards():
        for panel in board["panels"]:
            for target in panel.get("targets", []):
                yield f"{name}, {panel['title']}", filled(target["expr"])
    for page in sorted(DASHBOARDS.glob("consoles/*.html")):
        for expression in re.findall(r'data-query(?:-\d)?="([^"]+)"', page.read_text()):
            yield f"{page.name}", filled(expression.replace("&quot;", '"').replace("&lt;", "<"))


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
