"""The queries that the boards share.

A histogram comes from a server in its classic form (_bucket, _count, _sum) or in its native one, as that server
scrapes it. Every query here asks for both; what is not there is empty.
"""

DURATION = "http_client_request_duration_seconds"
FIRST_BYTE = "http_client_time_to_first_byte_seconds"
REQUEST_BODY = "http_client_request_body_size_bytes"
RESPONSE_BODY = "http_client_response_body_size_bytes"
ACTIVE = "http_client_active_requests"

# The labels that the variables choose by: of a process, of a client, of a host, of a request that has ended.
PROCESS = 'job=~"$job", instance=~"$instance"'
CLIENT = f'{PROCESS}, client=~"$client"'
HOST = f'{CLIENT}, server_address=~"$host"'
REQUEST = f'{HOST}, url_template=~"$template"'

# Requests whose outcome says something of the other side: what the app cancelled has neither status nor error.
JUDGED = ['http_response_status_code!=""', 'error_type!=""']
# No response at all, or a 5xx. A 4xx is the app's own mistake.
BAD = 'error_type!~"|4.."'
CACHED = 'cache="hit"'
SATISFIED = 'http_response_status_code!="", error_type=""'


def select(labels, *more):
    """A selector's labels."""
    return ", ".join([labels, *[one for one in more if one]])


def by(*labels):
    """`sum by (…)`, or `sum` alone."""
    return f"sum by ({', '.join(labels)})" if labels else "sum"


def rate(metric, labels):
    return f"rate({metric}{{{labels}}}[$__rate_interval])"


def counted(metric, *group, labels=REQUEST, where=""):
    """How many a second a histogram has counted."""
    chosen = select(labels, where)
    return f"{by(*group)} ({rate(metric + '_count', chosen)} or histogram_count({rate(metric, chosen)}))"


def summed(metric, *group, labels=REQUEST, where=""):
    """What a second's values of a histogram add up to."""
    chosen = select(labels, where)
    return f"{by(*group)} ({rate(metric + '_sum', chosen)} or histogram_sum({rate(metric, chosen)}))"


def mean(metric, *group):
    return f"{summed(metric, *group)} / {counted(metric, *group)}"


def quantile(share, metric, *group, labels=REQUEST, where=""):
    chosen = select(labels, where)
    classic = f"histogram_quantile({share}, {by('le', *group)} ({rate(metric + '_bucket', chosen)}))"
    native = f"histogram_quantile({share}, {by(*group)} ({rate(metric, chosen)}))"
    return f"{classic} or {native}"


def judged(*group):
    """Requests a second of which an error share is a share."""
    status, error = (select(REQUEST, where) for where in JUDGED)
    parts = [rate(DURATION + "_count", chosen) for chosen in (status, error)]
    parts += [f"histogram_count({rate(DURATION, chosen)})" for chosen in (status, error)]
    return f"{by(*group)} ({' or '.join(parts)})"


def error_share(*group):
    """Nought where there is no error yet, and not nothing."""
    total = judged(*group)
    return f"({counted(DURATION, *group, where=BAD)} or 0 * {total}) / {total}"


def cached_share(*group):
    """Of all requests, those that a URLCache has answered."""
    total = counted(DURATION, *group)
    return f"({counted(DURATION, *group, where=CACHED)} or 0 * {total}) / {total}"


def apdex(*group, satisfied="0.25", tolerated="1.0"):
    """Apdex by two bounds of the classic buckets, which a native histogram interpolates."""
    chosen = select(REQUEST, SATISFIED)

    def within(bound):
        classic = rate(DURATION + "_bucket", select(chosen, f'le="{bound}"'))
        native = rate(DURATION, chosen)
        return (f"{by(*group)} ({classic} or histogram_fraction(0, {bound}, {native})"
                f" * (histogram_count({native}) > 0))")

    return f"({within(satisfied)} + {within(tolerated)}) / 2 / {judged(*group)}"
