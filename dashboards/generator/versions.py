"""Requests by version: what an instance counts is of the `service_version` that its target_info says. A process runs one
version from its start to its end."""

import re

from .promql import BAD, DURATION, PROCESS, REQUEST, ROUTE, SERVED, SERVED_BAD, counted, judged, share

INSTANCE = ("job", "instance")


def versioned(series):
    """Series by job and instance, with the version of each."""
    return f"{series} * on (job, instance) group_left (service_version) target_info{{{PROCESS}}}"


def by_version(count, *group):
    """A count of requests by instance, together by the version that each instance says it runs."""
    return f"sum by ({', '.join(('service_version', *group))}) ({versioned(count)})"


def error_share_by_version(metric=DURATION, labels=REQUEST, bad=BAD):
    return share(by_version(counted(metric, *INSTANCE, labels=labels, where=bad)),
                 by_version(judged(*INSTANCE, metric=metric, labels=labels)))


def served_error_share_by_version():
    return error_share_by_version(SERVED, ROUTE, SERVED_BAD)


def since_start(query):
    """A query of the counters as they stand, where this one is of their rates."""
    return re.sub(r"rate\((.+?)\[\$__rate_interval\]\)", r"\1", query)
