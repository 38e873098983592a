"""Requests by version: what an instance counts is of the `service_version` that its target_info says. A process runs one
version from its start to its end."""

from .promql import DURATION, ERROR, rate, select

JOB = 'job=~"$job"'
VERSION_SAYS = " By service_version of target_info (OTEL_RESOURCE_ATTRIBUTES), of all instances."


def versioned(series):
    """Series by job and instance, with the version of each."""
    return f"{series} * on (job, instance) group_left (service_version) target_info"


def by_version(metric, *group, where=""):
    """A counter's rate, together by the version that each instance says it runs."""
    return f"sum by ({', '.join(('service_version', *group))}) ({versioned(rate(metric, select(JOB, where)))})"


def error_share_by_version(metric=DURATION):
    return f"{by_version(metric + '_count', where=ERROR)} / {by_version(metric + '_count')}"
