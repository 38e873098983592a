"""How a histogram is shown: as heatmaps of both forms, and by its quantiles."""

from .panels import graph, heat
from .promql import REQUEST, mean, quantile, rate

CLASSIC = "{} (classic buckets)"
NATIVE = "{} (native)"
EITHER = " Of the two, the form that the server scrapes is filled."


def heatmaps(title, description, unit, metric, labels=REQUEST):
    return [
        heat(CLASSIC.format(title), description + EITHER, unit, f"sum by (le) ({rate(metric + '_bucket', labels)})"),
        heat(NATIVE.format(title), description + EITHER, unit, f"sum({rate(metric, labels)})"),
    ]


def quantiles(title, description, unit, metric, labels=REQUEST, **options):
    return graph(title, description, unit,
                 *[(quantile(share, metric, labels=labels), f"p{share * 100:g}") for share in (.5, .9, .99)],
                 (mean(metric, labels=labels), "mean"), exemplars=True, **options)
