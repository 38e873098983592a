"""What all consoles have: a head and a foot, and between them rows of parts. A part is an element and what stands in its
`data-` attributes; ../consoles/libraries/session-tap.lib draws it. Until a page is written, queries, units and legends are as
on a board."""

import re

NOTE = "{{/* Written by dashboards/generate. Edit dashboards/generator. */}}"
# What a page chooses by besides the job: templates of the library, and their variables.
REQUEST_CHOICES = "session-tap-request-choices"
ROUTE_CHOICE = "session-tap-route-choice"
VARIABLES = {None: ("job",), REQUEST_CHOICES: ("job", "client", "host"), ROUTE_CHOICE: ("job", "route")}
# The library's units by Grafana's.
UNITS = {"short": "", "none": "", "s": "s", "bytes": "bytes", "percentunit": "percent", "reqps": "/s", "cps": "/s",
         "Bps": "B/s", "dtdhms": "age"}


def number(title, unit, query, extreme=None, **limits):
    """One number; `warn` and `bad` are its limits. `extreme` is as on a board."""
    attributes = {"title": title, "unit": UNITS[unit], **limits, "query": query}
    if extreme:
        query, legend = extreme
        word, label = re.fullmatch(r"(\w+): {{(\w+)}}", legend).groups()
        attributes |= {"query-2": query, "legend-2": label, "extreme": word}
    return "output", attributes


def graph(title, unit, *queries, stack=False):
    """Lines over time; each query is `(expression, legend)`."""
    attributes = {"title": title, "unit": UNITS[unit], "stack": stack}
    for place, (query, legend) in enumerate(queries, 1):
        suffix = f"-{place}" if place > 1 else ""
        attributes |= {f"query{suffix}": query, f"legend{suffix}": _legend(legend)}
    return "figure", attributes


def table(title, unit, query, columns, value=""):
    """Series as rows; `columns` are the labels to show, in order, by their titles."""
    return "table", {"title": title, "unit": UNITS[unit], "value": value, "columns": ",".join(columns),
                     "heads": ",".join(columns.values()), "query": query}


def shown(board, *titles):
    """Panels of a board by their titles. A pair is the title there and another one here."""
    panels = [one for panel in board.panels for one in (panel, *getattr(panel, "panels", ())) if one.type_val != "row"]
    for title in titles:
        there, here = title if isinstance(title, tuple) else (title, title)
        (panel,) = [one for one in panels if one.title == there]
        yield _part(panel, here)


def page(*rows, choices=None):
    """The text of a page. A row is its title and its parts, of which a text is a paragraph."""
    templates = ("session-tap-head", choices, "session-tap-main")
    lines = [NOTE, "".join(f'{{{{ template "{name}" . }}}}' for name in templates if name)]
    for title, *parts in rows:
        lines += [f'  <h2 id="{title.lower().replace(" ", "-")}">{title}</h2>'] if title else []
        # A line holds three graphs, or two where three leave a gap and two do not.
        graphs = sum(part[0] == "figure" for part in parts)
        half = ' class="half"' if graphs % 3 and graphs % 2 == 0 else ""
        for part in parts:
            lines.append(f"  <p>{part}</p>" if isinstance(part, str) else "  " + _element(*part, half, VARIABLES[choices]))
    return "\n".join([*lines, '{{ template "session-tap-foot" . }}', ""])


def _part(panel, title):
    """The same as a panel of a board."""
    defaults = panel.field_config.defaults
    if panel.type_val == "stat":
        (main, *more) = [(target.expr, target.legend_format) for target in panel.targets]
        return number(title, defaults.unit, main[0], *more, **_limits(defaults.thresholds.steps))
    if panel.type_val == "timeseries":
        queries = [(target.expr, target.legend_format) for target in panel.targets]
        return graph(title, defaults.unit, *queries, stack=defaults.custom.stacking is not None)
    if panel.type_val == "table":
        columns = dict(panel.transformations[0].options["renameByName"])
        value, unit = columns.pop("Value"), panel.field_config.overrides[0].properties[0].value
        return table(title, unit, panel.targets[0].expr, columns, value)
    raise ValueError(f"{title}: a console has no {panel.type_val}")


def _limits(steps):
    """A colour begins at its value. Where red is the first, less is worse: red and yellow are what is below the next."""
    colours = [step.color for step in steps]
    named = colours if colours[0] == "red" else colours[1:]
    values = dict(zip(named, [step.value for step in steps[1:]]))
    return {name: values[colour] for name, colour in (("warn", "yellow"), ("bad", "red")) if colour in values}


def _legend(legend):
    """Labels that name a line, or its name."""
    labels = re.findall(r"{{(\w+)}}", legend)
    if labels and re.search(r"\w", re.sub(r"{{\w+}}", "", legend)):
        raise ValueError(f"a console's line is named by labels or by words: {legend}")
    return ",".join(labels) or "=" + legend


def _query(expression, variables):
    """A board's query in the quotes of an attribute, without the labels that the page does not choose by."""
    chosen = re.sub(r', \w+=~"\$(\w+)"', lambda label: label[0] if label[1] in variables else "", expression)
    return chosen.replace("$__rate_interval", "$window").replace("$__range", "1h").replace('"', "'")


def _element(tag, attributes, half, variables):
    text = half if tag == "figure" else ""
    for name, value in attributes.items():
        if name.startswith("query"):
            text += f'\n    data-{name}="{_query(value, variables)}"'
        elif value is not False:
            text += f" data-{name}" if value is True else f' data-{name}="{value}"'
    element = f"<{tag}{text}></{tag}>"
    return f"<section>{element}</section>" if tag == "table" else element
