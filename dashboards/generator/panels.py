"""Panels, with what all of them have in common."""

from grafana_foundation_sdk.builders import common as common_builders
from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.builders import barchart, heatmap, prometheus, stat, table, timeseries
from grafana_foundation_sdk.models import common, dashboard
from grafana_foundation_sdk.models import heatmap as heatmap_models
from grafana_foundation_sdk.models import prometheus as prometheus_models

from .promql import REQUEST, mean, quantile, total

SOURCE = dashboard.DataSourceRef(type_val="prometheus", uid="${datasource}")
# A phase has its colour on every board, whatever else a panel shows.
COLOURS = {"queue": "red", "resolve": "purple", "connect": "orange", "tls": "yellow", "upload": "semi-dark-green",
           "processing": "blue", "response": "#2a9d9d", "transfer": "green", "local": "gray"}
REQUESTS_BOARD = "/d/session-tap-requests/session-tap-requests?${__url_time_range}&${datasource:queryparam}&${job:queryparam}"

INBOUND_BOARD = "/d/session-tap-inbound/session-tap-inbound?${__url_time_range}&${datasource:queryparam}&${job:queryparam}"
INBOUND = builders.DashboardLink("The requests that it serves").url(INBOUND_BOARD)
ITS_ROUTE = (builders.DashboardLink("The requests of this route")
             .url(INBOUND_BOARD + "&var-route=${__field.labels.http_route}"))


def thresholds(*steps):
    """`thresholds("green", (0.01, "yellow"), (0.05, "red"))`: the first colour is that below all others."""
    values = [dashboard.Threshold(value=None, color=steps[0])]
    values += [dashboard.Threshold(value=value, color=color) for value, color in steps[1:]]
    return builders.ThresholdsConfig().mode(dashboard.ThresholdsMode.ABSOLUTE).steps(values)


def drill_down(*labels):
    """A link from a series to the same series on the board of the requests."""
    names = {"client": "client", "server_address": "host", "url_template": "template"}
    chosen = "".join(f"&var-{names[label]}=${{__field.labels.{label}}}" for label in labels)
    return builders.DashboardLink("Its requests").url(REQUESTS_BOARD + chosen)


def _query(number, expression, legend, *, instant=False, exemplars=False, form=None):
    query = (prometheus.Dataquery().ref_id(chr(ord("A") + number)).expr(expression).legend_format(legend)
             .editor_mode(prometheus_models.QueryEditorMode.CODE).datasource(SOURCE))
    query = query.instant() if instant else query.range()
    if exemplars:
        query = query.exemplar(True)
    return query.format(form) if form else query


def _common(panel, title, description, unit, width, height):
    return (panel.title(title).description(description).unit(unit).datasource(SOURCE)
            .span(width).height(height))


def graph(title, description, unit, *queries, width=12, height=8, steps=None, stack=False, maximum=None,
          exemplars=False, link=None, step_after=False):
    """Lines over time; each query is `(expression, legend)`."""
    panel = _common(timeseries.Panel(), title, description, unit, width, height)
    for number, (expression, legend) in enumerate(queries):
        panel = panel.with_target(_query(number, expression, legend, exemplars=exemplars))
    panel = (panel.min(0).line_width(1).fill_opacity(25 if stack else 8)
             .show_points(common.VisibilityMode.NEVER)
             .legend(common_builders.VizLegendOptions().display_mode(common.LegendDisplayMode.TABLE)
                     .placement(common.LegendPlacement.BOTTOM).show_legend(True).calcs(["mean", "max", "lastNotNull"]))
             .tooltip(common_builders.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI)
                      .sort(common.SortOrder.DESCENDING)))
    if stack:
        panel = panel.stacking(common_builders.StackingConfig().mode(common.StackingMode.NORMAL).group("A"))
    if maximum is not None:
        panel = panel.max(maximum)
    if steps:
        panel = panel.thresholds(steps).thresholds_style(
            common_builders.GraphThresholdsStyleConfig().mode(common.GraphThresholdsStyleMode.DASHED))
    if step_after:
        panel = panel.line_interpolation(common.LineInterpolation.STEP_AFTER)
    return panel.data_links([link]) if link else panel


def phased(panel):
    """The panel with the phases in their colours."""
    for phase, colour in COLOURS.items():
        panel = panel.override_by_name(phase, [
            dashboard.DynamicConfigValue(id_val="color", value={"mode": "fixed", "fixedColor": colour})])
    return panel


def phase_bars(title, description, expression, *, width=12, height=9):
    """One stacked bar for each server of an instant query, of its phases in their order."""
    panel = _common(barchart.Panel(), title, description, "s", width, height)
    rows = "server_address\\phase"
    order = {name: place for place, name in enumerate([rows, *COLOURS])}
    panel = (panel.with_target(_query(0, expression, "__auto", instant=True,
                                      form=prometheus_models.PromQueryFormat.TABLE))
             .with_transformation(dashboard.DataTransformerConfig(id_val="groupingToMatrix", options={
                 "rowField": "server_address", "columnField": "phase", "valueField": "Value", "emptyValue": "null"}))
             .with_transformation(dashboard.DataTransformerConfig(id_val="organize", options={
                 "indexByName": order, "excludeByName": {}, "renameByName": {rows: "Server"}}))
             .orientation(common.VizOrientation.HORIZONTAL).stacking(common.StackingMode.NORMAL)
             .show_value(common.VisibilityMode.NEVER).fill_opacity(80)
             .legend(common_builders.VizLegendOptions().display_mode(common.LegendDisplayMode.LIST)
                     .placement(common.LegendPlacement.BOTTOM).show_legend(True).calcs([]))
             .tooltip(common_builders.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI)
                      .sort(common.SortOrder.NONE)))
    return phased(panel)


def number(title, description, unit, expression, *, steps=None, width=4, decimals=None, extreme=None, link=None):
    """One number of now, with a line of how it came about behind it. `extreme` is the query of the series that is furthest off, and
    what names it: a word and a label, `"lowest: {{client}}"`."""
    panel = _common(stat.Panel(), title, description, unit, width, 4)
    panel = panel.with_target(_query(0, expression, "all" if extreme else "__auto"))
    if extreme:
        panel = panel.with_target(_query(1, *extreme, instant=True)).text_mode(common.BigValueTextMode.VALUE_AND_NAME)
    panel = (panel.graph_mode(common.BigValueGraphMode.AREA).color_mode(common.BigValueColorMode.VALUE)
             .reduce_options(common_builders.ReduceDataOptions().calcs(["lastNotNull"]).fields("").values(False))
             .thresholds(steps or thresholds("text")))
    if link:
        panel = panel.data_links([link])
    return panel.decimals(decimals) if decimals is not None else panel


def heat(title, unit, metric, labels=REQUEST, *, width=12, height=9):
    """A heatmap of a histogram."""
    panel = _common(heatmap.Panel(), f"{title}, heatmap", f"{title}: requests a second in each bucket. Points are exemplars.", unit,
                    width, height)
    return (panel.with_target(_query(0, total(metric + "_bucket", "le", labels=labels), "{{le}}",
                                     form=prometheus_models.PromQueryFormat.HEATMAP, exemplars=True))
            .calculate(False).cell_gap(1)
            .hide_from(common_builders.HideSeriesConfig())
            .y_axis(heatmap.YAxisConfig().unit(unit).axis_placement(common.AxisPlacement.LEFT))
            .color(heatmap.HeatmapColorOptions().mode(heatmap_models.HeatmapColorMode.SCHEME).scheme("Spectral")
                   .steps(64).exponent(0.5))
            .exemplars_color("rgba(255,0,255,0.7)"))


def quantiles(title, description, metric, labels=REQUEST, **options):
    """Median, p90, p99 and mean of a histogram of seconds."""
    return graph(title, description, "s",
                 *[(quantile(share, metric, labels=labels), f"p{share * 100:g}") for share in (.5, .9, .99)],
                 (mean(metric, labels=labels), "mean"), exemplars=True, **options)


def top(title, description, expression, columns, unit, *, value="Value", width=12, height=9):
    """A table of an instant query's series; `columns` are the labels to show, in order, by their titles."""
    panel = _common(table.Panel(), title, description, "short", width, height)
    order = {label: place for place, label in enumerate([*columns, "Value"])}
    return (panel.with_target(_query(0, expression, "__auto", instant=True,
                                     form=prometheus_models.PromQueryFormat.TABLE))
            .with_transformation(dashboard.DataTransformerConfig(id_val="organize", options={
                "excludeByName": {"Time": True},
                "indexByName": order,
                "renameByName": {**columns, "Value": value},
            }))
            .align(common.FieldTextAlignment.AUTO).inspect(False)
            .override_by_name(value, [dashboard.DynamicConfigValue(id_val="unit", value=unit)])
            .sort_by([common_builders.TableSortByFieldState().display_name(value).desc(True)]))
