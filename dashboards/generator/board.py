"""What all boards have: their variables, their links to each other, their time range."""

from functools import reduce
from itertools import count

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.models import dashboard

from .panels import SOURCE
from .promql import ACTIVE, CLIENT, DURATION, PROCESS, SERVED


def _choice(name, label, description, query):
    return (builders.QueryVariable(name).label(label).description(description).query(query).datasource(SOURCE)
            .multi(True).include_all(True).all_value(".*")
            .current(dashboard.VariableOption(selected=True, text=["All"], value=["$__all"]))
            .refresh(dashboard.VariableRefresh.ON_TIME_RANGE_CHANGED)
            .sort(dashboard.VariableSort.ALPHABETICAL_ASC))


def _variables(names):
    yield builders.DatasourceVariable("datasource").label("Data source").type("prometheus")
    choices = {
        "job": ("Job", "Which service.", "label_values(session_tap_build_info, job)"),
        "instance": ("Instance", "Which of its processes.",
                     'label_values(session_tap_build_info{job=~"$job"}, instance)'),
        "client": ("Client", "Which session: the name that the app gave it.",
                   'label_values(session_tap_started_requests_total{job=~"$job"}, client)'),
        "host": ("Host", "Which server the requests went to.",
                 f'label_values({ACTIVE}{{job=~"$job", client=~"$client"}}, server_address)'),
        "template": ("Template", "Which form of path, where the app names it.",
                     f'label_values({DURATION}_count{{{CLIENT}}}, url_template)'),
        "route": ("Route", "Which of the app's own routes, as its framework names it.",
                  f"label_values({SERVED}_count{{{PROCESS}}}, http_route)"),
    }
    for name in names:
        yield _choice(name, *choices[name])


def board(uid, title, description, variables, rows, *, period="now-30m", refresh="10s"):
    """A board: `rows` is a list of `(title, panels)`. The first is open, the others are folded and ask nothing until they are opened."""
    made = (builders.Dashboard(f"SessionTap: {title}").uid(uid).description(description).tags(["session-tap"])
            .editable().tooltip(dashboard.DashboardCursorSync.CROSSHAIR).time(period, "now").timezone("browser")
            .refresh(refresh)
            .link(builders.DashboardLink("SessionTap").type(dashboard.DashboardLinkType.DASHBOARDS)
                  .tags(["session-tap"]).as_dropdown(True).include_vars(True).keep_time(True)))
    for variable in _variables(variables):
        made = made.with_variable(variable)
    number = count(1)
    for row, panels in rows:
        is_first = row == rows[0][0]
        head = builders.Row(row).id(next(number))
        panels = [panel.id(next(number)) for panel in panels]
        made = made.with_row(head if is_first else reduce(builders.Row.with_panel, panels, head))
        if is_first:
            made = reduce(builders.Dashboard.with_panel, panels, made)
    return made.build()
