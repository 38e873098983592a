"""Reads log lines from standard input and fails on the first that is not what the contract says."""
import json
import re
import sys

ORDER = [
    "timestamp", "severity", "event", "client.name", "http.request.method", "http.request.method_original", "url.full",
    "url.path", "url.scheme", "http.route", "client.address", "url.template", "server.address", "server.port", "http.response.status_code", "error.type", "duration_s",
    "time_to_first_byte_s", "upstream_s", "own_s", "upstream_requests", "queue_s", "resolve_s", "connect_s", "tls_s", "upload_s", "processing_s", "response_s", "transfer_s", "local_s", "cut_off_phase", "waiting_for", "idle_s",
    "network.protocol.version", "network.peer.address", "connection.reused", "network.resent_after_s", "network.round_trip_s", "network.retransmits", "http.request.body.size", "http.response.body.size", "http.request.resend_count",
    "from_cache", "outcome", "trace_id", "span_id", "exception.type", "exception.message",
]
# General category Cc, and the two separators that end a line for some readers.
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
RANK = {key: rank for rank, key in enumerate(ORDER)}


def members(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"a key twice: {keys}"
    return dict(pairs)


def refuse(constant):
    raise ValueError(f"{constant} is not JSON")


def check(line):
    text = line.decode("utf-8", errors="strict")
    assert text.endswith("\n"), "no newline at the end"
    assert not CONTROL.search(text[:-1]), "raw control characters"
    value = json.loads(text, object_pairs_hook=members, parse_constant=refuse)
    assert list(value)[:3] == ORDER[:3], list(value)
    if value["event"].startswith("http.client.request"):
        ranks = [RANK[key] for key in value if key in RANK]
        assert ranks == sorted(ranks), list(value)
        for key in ("client.name", "http.request.method", "duration_s"):
            assert key in value, key
        assert ("outcome" in value) == (value["event"] == "http.client.request"), list(value)
    if value["event"] == "http.server.request":
        ranks = [RANK[key] for key in value if key in RANK and key != "client.name"]
        assert ranks == sorted(ranks), list(value)
        for key in ("http.request.method", "duration_s", "outcome", "trace_id", "span_id"):
            assert key in value, key
    assert len(line) <= 16384, len(line)


expected = int(sys.argv[1])
count = 0
for line in sys.stdin.buffer:
    try:
        check(line)
    except Exception as error:
        sys.exit(f"line {count + 1}: {error}\n{line!r}")
    count += 1
if count != expected:
    sys.exit(f"{count} lines, not {expected}")
print(f"{count} lines, all valid")
