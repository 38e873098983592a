"""The queries that the boards share.

They read a histogram by the names of its classic form: _bucket, _count, _sum. On a server that keeps only native histograms,
prometheus/rules/native records series of these names.
"""

DURATION = "http_client_request_duration_seconds"
FIRST_BYTE = "http_client_time_to_first_byte_seconds"
REQUEST_BODY = "http_client_request_body_size_bytes"
RESPONSE_BODY = "http_client_response_body_size_bytes"
ACTIVE = "http_client_active_requests"
SERVED = "http_server_request_duration_seconds"
SERVED_REQUEST_BODY = "http_server_request_body_size_bytes"
SERVED_RESPONSE_BODY = "http_server_response_body_size_bytes"
SERVED_UPSTREAM = "http_server_request_upstream_seconds"
CALLS = "http_server_upstream_requests_total"
CALL_SECONDS = "http_server_upstream_request_seconds_total"
SERVED_ACTIVE = "http_server_active_requests"
PHASE = "http_client_request_phase_duration_seconds"
OPENED = "http_client_connections_opened_total"
ROUND_TRIP = "http_client_network_round_trip_seconds"
RETRANSMITTED = "http_client_retransmitted_segments_total"

# The labels that the variables choose by: of a process, of a client, of a host, of a request that has ended.
PROCESS = 'job=~"$job", instance=~"$instance"'
CLIENT = f'{PROCESS}, client=~"$client"'
HOST = f'{CLIENT}, server_address=~"$host"'
REQUEST = f'{HOST}, url_template=~"$template"'
# Of a request that the app served.
ROUTE = f'{PROCESS}, http_route=~"$route"'

# The one meaning of error, in both directions: no complete response, or a 5xx. A 4xx is the fault of the side that asked.
ERROR = 'error_type!~"|4.."'
MISTAKE = 'error_type=~"4.."'
MISTAKES_SAY = "Mistakes of the app, such as a path that is not there: no errors of the other side."
ERROR_SAYS = "Of the requests that ended, those that got no response or a 5xx. A 4xx is no error, nor is what the app cancelled."
SERVED_ERROR_SAYS = ("Of the requests that ended, those that got a 5xx or no complete response. A 4xx is no error, nor is what the "
                     "caller abandoned.")
# Requests that went to a server.
SENT = 'cache=""'
# Those of them that got a connection.
CONNECTED = f'{SENT}, error_type!~"connect|dns|tls"'


def select(labels, *more):
    """A selector's labels."""
    return ", ".join([labels, *[one for one in more if one]])


def by(*labels):
    """`sum by (…)`, or `sum` alone."""
    return f"sum by ({', '.join(labels)}) " if labels else "sum"


def rate(metric, labels):
    return f"rate({metric}{{{labels}}}[$__rate_interval])"


def total(metric, *group, labels=REQUEST, where=""):
    """A counter's rate."""
    return f"{by(*group)}({rate(metric, select(labels, where))})"


def counted(metric, *group, **which):
    """How many a second a histogram has counted."""
    return total(metric + "_count", *group, **which)


def summed(metric, *group, **which):
    """What a second's values of a histogram add up to."""
    return total(metric + "_sum", *group, **which)


def mean(metric, *group, labels=REQUEST):
    return f"{summed(metric, *group, labels=labels)} / {counted(metric, *group, labels=labels)}"


def quantile(share, metric, *group, labels=REQUEST):
    return f"histogram_quantile({share}, {total(metric + '_bucket', 'le', *group, labels=labels)})"


def instrumented(series):
    """Series of the processes that SessionTap is in: a job that is chosen as `.*` may have others."""
    return f"{series} and on (job, instance) session_tap_build_info"


# 0 while processes run, and nothing before: a graph begins with the first process.
ZERO = f"0 * sum(session_tap_build_info{{{PROCESS}}})"


def or_zero(query):
    """0 where processes run and the query has nothing."""
    return f"{query} or on () {ZERO}"


def active(metric, labels, *group):
    """Requests that have started and not ended."""
    return f"{by(*group)}({metric}{{{labels}}})"


def apdex(score, judged, labels):
    """Of all together, each by the number of its requests."""
    return f"sum({score}{{{labels}}} * {judged}{{{labels}}}) / sum({judged}{{{labels}}})"


def alerts(*group, names="HTTP(Client|Server).*|SessionTap.*"):
    """How many alerts of these rules are pending or firing."""
    labels = ", ".join(("alertname", "alertstate", *group))
    return f'count by ({labels}) (ALERTS{{alertname=~"{names}", job=~"$job"}})'


def error_share(*group, metric=DURATION, labels=HOST):
    """0 where nothing has failed yet, and no series of a group."""
    failed, ended = counted(metric, *group, labels=labels, where=ERROR), counted(metric, *group, labels=labels)
    return f"{failed} / {ended}" + ("" if group else f" or {ZERO}")


def served_error_share(*group, labels=ROUTE):
    return error_share(*group, metric=SERVED, labels=labels)


def phase_means():
    """Seconds of each phase for each request that was sent, so that the phases add up to the mean of a request."""
    return f"{summed(PHASE, 'phase')} / scalar({counted(DURATION, where=SENT)})"


def response_share(*group):
    """Of the requests that were sent, the share whose response came in pieces after a body: what of it the server took is unknown."""
    return f"""{total(PHASE + "_count", *group, labels=HOST, where='phase="response"')} / {counted(DURATION, *group, labels=HOST, where=SENT)}"""


def connections(*group):
    """Connections that each request opens, of those requests that got one: 0 where all were open before."""
    return f"{total(OPENED, *group, labels=HOST)} / {counted(DURATION, *group, labels=HOST, where=CONNECTED)}"


def local_share(*group):
    """Of the time of requests, what was spent in this process."""
    return f"""{summed(PHASE, *group, labels=HOST, where='phase="local"')} / {summed(PHASE, *group, labels=HOST)}"""


def queued(part, *group):
    """Of the requests that were sent, the share that waited for a connection (`_count`), or how long each waited (`_sum`)."""
    waited = total(PHASE + part, *group, labels=HOST, where='phase="queue"')
    return f"{waited} / {counted(DURATION, *group, labels=HOST, where=SENT)}"
