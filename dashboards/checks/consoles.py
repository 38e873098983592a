"""Every console in a real browser, on a Prometheus that scrapes the real demo: each number, graph and table has data, a number
says the same as the graph of the same query, no graph begins before the first process, and each link leads somewhere."""

import html.parser
import math
import re
import subprocess

from stack.programs import DASHBOARDS, get, until

# The seconds that the graphs show: more than the stage has been there.
RANGE = 3600
# What a healthy log and observer do not have.
EMPTY = {"Log lines dropped", "Observer calls dropped"}
FACTORS = {"": 1, "k": 1e3, "M": 1e6, "Ki": 2 ** 10, "Mi": 2 ** 20, "Gi": 2 ** 30, "ms": 1e-3, "s": 1, "h": 3600, "%": 1e-2}


def check(stage):
    wrong, count, server = [], 0, stage.classic
    stage.is_ready(server)
    until("alerts", lambda: server.query('ALERTS{alertname=~"HTTPServer.*"}'))
    began = min(server.query("process_start_time_seconds").values())
    for path in sorted(DASHBOARDS.glob("consoles/*.html")):
        page = Page(_drawn(f"{server.url}/consoles/{path.name}?range={RANGE}", stage.folder))
        count += len(page.parts)
        wrong += [f"{path.name}: {line}" for line in page.wrong()]
        wrong += [f"{path.name}: {part['title']} begins {began - time:.0f} s before the first process" for part in page.parts
                  for time in [page.beginning(part)] if time < began - RANGE / 150]
        wrong += [f"{path.name}: {link} is not there" for link in sorted(page.links)
                  if not get(f"{server.url}/consoles/{link.partition('#')[0]}")]
    return f"{count} numbers, graphs and tables", wrong


def _drawn(url, folder):
    """The page as it is after its script has drawn it once."""
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/chromium", "--dump-dom",
         "--virtual-time-budget=4000", url], capture_output=True, text=True, timeout=300)
    return done.stdout


class Page(html.parser.HTMLParser):
    """The numbers, graphs and tables of a console."""

    def __init__(self, text):
        super().__init__()
        self.parts, self.links, self._part, self._texts, self.drawn = [], set(), None, [], None
        self.twelve_hours = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.drawn = attributes.get("data-drawn", self.drawn)
        if tag == "a":
            self.links.add(attributes["href"])
        if "data-query" in attributes:
            self._part = {"tag": tag, "title": attributes["data-title"], "texts": [], "left": [],
                          "queries": [value for name, value in sorted(attributes.items())
                                      if re.fullmatch(r"data-query(-\d)?", name)],
                          "legends": [value for name, value in sorted(attributes.items())
                                      if re.fullmatch(r"data-legend(-\d)?", name)]}
            self.parts.append(self._part)
        if tag == "svg":
            self.width = float(attributes["viewbox"].split()[2])
        if tag == "path" and self._part:
            # The left end of a line, as a part of the graph's width: it stands between the scale and a margin (drawFigure).
            self._part["left"] += [(float(x) - 66) / (self.width - 70) for x in re.findall(r"[ML]([\d.]+) ", attributes["d"])]
        self._texts.append(tag)

    def handle_endtag(self, tag):
        if self._part and tag == self._part["tag"]:
            self._part = None

    def handle_data(self, data):
        if re.search(r"\d [AP]M\b", data):
            self.twelve_hours.append(data)
        if self._part and self._texts and self._texts[-1] in ("b", "span", "em", "td"):
            self._part["texts"].append(data)
        elif self._part and self._texts and self._texts[-1] == "small":
            self._part["extreme"] = data

    def beginning(self, part):
        """When the first line of a graph begins. Without one it never does."""
        return int(self.drawn) - RANGE * (1 - min(part["left"])) if self.drawn and part["left"] else math.inf

    def wrong(self):
        if not self.drawn or not self.parts:
            return ["has not been drawn"]
        lines = [f"{part['title']} has no data" for part in self.parts
                 if part["title"] not in EMPTY and not any(re.search(r"\d", text) for text in part["texts"])]
        lines += [f"a clock of twelve hours: {text}" for text in self.twelve_hours]
        for number in self.parts:
            if number["tag"] == "output":
                lines += self._differs(number)
                if len(number["queries"]) > 1 and not re.fullmatch(r"\w+: .+, [\d.]+", number.get("extreme", "")):
                    lines.append(f"{number['title']} does not name the lowest: {number.get('extreme')}")
        return lines

    def _differs(self, number):
        """The graphs of the same query, or of the same by some label, say something else at their end."""
        query, text = number["queries"][0], "".join(number["texts"])
        for graph in (part for part in self.parts if part["tag"] == "figure"):
            series = list(zip(graph["texts"][::2], graph["texts"][1::2]))
            for one, legend in zip(graph["queries"], graph["legends"]):
                if one == query and legend.startswith("="):
                    shown = dict(series).get(legend[1:])
                    if shown != text:
                        yield f"{number['title']} is {text}, and {shown} in {graph['title']}"
                elif one != query and re.sub(r"^sum by \([^)]*\) ", "sum", one) == query and len(graph["queries"]) == 1:
                    total = sum(_value(shown) for _, shown in series if shown != "–")
                    # Each value is rounded to three digits.
                    if not abs(total - _value(text)) <= 0.01 * total:
                        yield f"{number['title']} is {text}, and {total:.4g} in all in {graph['title']}"


def _value(text):
    """The number that a text shows, not a number for a dash."""
    found = re.fullmatch(r"(-?[\d.]+) ?(Ki|Mi|Gi|ms|[kMsh%]?)(/s|B|B/s)?", text)
    return float(found[1]) * FACTORS[found[2]] if found else math.nan
