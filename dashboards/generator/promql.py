"""The queries that boards and consoles share.

A histogram comes from a server in its classic form (_bucket, _count, _sum) or in its native one, as that server
scrapes it. Every query here asks for both; what is not there is empty.
"""

DURATION = "http_client_request_duration_seconds"
FIRST_BYTE = "http_client_time_to_first_byte_seconds"
REQUEST_BODY = "http_client_request_body_size_bytes"
RESPONSE_BODY = "http_client_response_body_size_bytes"
ACTIVE = "http_client_active_requests"
SERVED = "http_server_request_duration_seconds"
SERVED_REQUEST_BODY = "http_server_request_body_size_bytes"
SERVED_RESPONSE_BODY = "http_server_response_body_size_bytes"
SERVED_ACTIVE = "http_server_active_requests"
PHASE = "http_client_request_phase_duration_seconds"
OPENED = "http_client_connections_opened_total"
ROUND_TRIP = "http_client_network_round_trip_seconds"
RETRANSMITTED = "http_client_retransmitted_segments_total"
# In the order in which a request goes through them.
PHASES = ("queue", "resolve", "connect", "tls", "upload", "processing", "transfer", "local")

# The labels that the variables choose by: of a process, of a client, of a host, of a request that has ended.
PROCESS = 'job=~"$job", instance=~"$instance"'
CLIENT = f'{PROCESS}, client=~"$client"'
HOST = f'{CLIENT}, server_address=~"$host"'
REQUEST = f'{HOST}, url_template=~"$template"'
# Of a request that the app served.
ROUTE = f'{PROCESS}, http_route=~"$route"'

# Requests whose outcome says something of the other side: what the app cancelled has neither status nor error.
JUDGED = ['http_response_status_code!=""', 'error_type!=""']
# No response at all, or a 5xx. A 4xx is the app's own mistake.
BAD = 'error_type!~"|4.."'
# Of a request that the app served a 4xx is the caller's mistake, and has no error_type.
SERVED_BAD = 'error_type!=""'
CACHED = 'cache="hit"'
# Requests that went to a server.
SENT = 'cache!="hit"'
# Those of them that got a connection.
CONNECTED = f'{SENT}, error_type!~"connect|dns|tls"'
SATISFIED = 'http_response_status_code!="", error_type=""'


def select(labels, *more):
    """A selector's labels."""
    return ", ".join([labels, *[one for one in more if one]])


def by(*labels):
    """`sum by (…)`, or `sum` alone."""
    return f"sum by ({', '.join(labels)})" if labels else "sum"


def rate(metric, labels):
    return f"rate({metric}{{{labels}}}[$__rate_interval])"


def instrumented(series):
    """Series of the processes that SessionTap is in: a job that is chosen as `.*` may have others."""
    return f"{series} and on (job, instance) session_tap_build_info"


def active(metric, labels, *group):
    """Requests that have started and not ended."""
    return f"{by(*group)} ({metric}{{{labels}}})"


def alerts(*group, names="HTTP(Client|Server).*|SessionTap.*"):
    """How many alerts of these rules are pending or firing."""
    labels = ", ".join(("alertname", "alertstate", *group))
    return f'count by ({labels}) (ALERTS{{alertname=~"{names}", job=~"$job"}})'


def counted(metric, *group, labels=REQUEST, where=""):
    """How many a second a histogram has counted."""
    chosen = select(labels, where)
    return f"{by(*group)} ({rate(metric + '_count', chosen)} or histogram_count({rate(metric, chosen)}))"


def summed(metric, *group, labels=REQUEST, where=""):
    """What a second's values of a histogram add up to."""
    chosen = select(labels, where)
    return f"{by(*group)} ({rate(metric + '_sum', chosen)} or histogram_sum({rate(metric, chosen)}))"


def mean(metric, *group, labels=REQUEST):
    return f"{summed(metric, *group, labels=labels)} / {counted(metric, *group, labels=labels)}"


def quantile(share, metric, *group, labels=REQUEST, where=""):
    chosen = select(labels, where)
    classic = f"histogram_quantile({share}, {by('le', *group)} ({rate(metric + '_bucket', chosen)}))"
    native = f"histogram_quantile({share}, {by(*group)} ({rate(metric, chosen)}))"
    return f"{classic} or {native}"


def judged(*group, metric=DURATION, labels=REQUEST):
    """Requests a second of which an error share is a share."""
    status, error = (select(labels, where) for where in JUDGED)
    parts = [rate(metric + "_count", chosen) for chosen in (status, error)]
    parts += [f"histogram_count({rate(metric, chosen)})" for chosen in (status, error)]
    return f"{by(*group)} ({' or '.join(parts)})"


def share(part, total):
    """Nought where there is nothing of it yet, and not nothing."""
    return f"({part} or 0 * {total}) / {total}"


def error_share(*group):
    return share(counted(DURATION, *group, where=BAD), judged(*group))


def served_error_share(*group, labels=ROUTE):
    return share(counted(SERVED, *group, labels=labels, where=SERVED_BAD),
                 judged(*group, metric=SERVED, labels=labels))


def cached_share(*group):
    """Of all requests, those that a URLCache has answered."""
    return share(counted(DURATION, *group, where=CACHED), counted(DURATION, *group))


def phase_mean(phase, *group):
    """Seconds of one phase for each request, so that the phases add up to the mean of a request."""
    return share(summed(PHASE, *group, where=f'phase="{phase}"'), counted(DURATION, *group, where=SENT))


def phase_means(*server):
    """The same of each phase that there is, for the ten clients and servers that the app waits for most. Their labels
    are one as `server`: Grafana's matrix has one field for its rows."""
    of = ", ".join(server)
    spent = summed(PHASE, *server, "phase")
    requests = counted(DURATION, *server, where=SENT)
    most = f"topk(10, {summed(PHASE, *server)})"
    names = ", ".join(f'"{label}"' for label in server)
    return (f"label_join({spent} / on ({of}) group_left () ({requests}) and on ({of}) {most},"
            f' "server", " ", {names})')


def reused_share(*group):
    """Of the requests that got a connection, those that got one that was open."""
    connected = counted(DURATION, *group, labels=HOST, where=CONNECTED)
    return f"clamp_min(1 - {by(*group)} ({rate(OPENED, HOST)}) / ({connected} > 0), 0)"


def local_share(*group):
    """Of the time of requests, what was spent in this process."""
    return share(summed(PHASE, *group, where='phase="local"'), summed(PHASE, *group))


def waiting_share(*group):
    """Of the requests that went to a server, those that had to wait for a connection."""
    return share(counted(PHASE, *group, where='phase="queue"'), counted(DURATION, *group, where=SENT))


def apdex(*group, metric=DURATION, labels=REQUEST, satisfied="0.25", tolerated="1.0"):
    """Apdex by two bounds of the classic buckets, which a native histogram interpolates."""
    chosen = select(labels, SATISFIED)

    def within(bound):
        classic = rate(metric + "_bucket", select(chosen, f'le="{bound}"'))
        native = rate(metric, chosen)
        return (f"{by(*group)} ({classic} or histogram_fraction(0, {bound}, {native})"
                f" * (histogram_count({native}) > 0))")

    return f"({within(satisfied)} + {within(tolerated)}) / 2 / {judged(*group, metric=metric, labels=labels)}"
