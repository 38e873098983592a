"""Reads log lines from standard input and fails on the first that is not what the contract says."""
import json
import sys
import unicodedata

ORDER = [
    "timestamp", "severity", "event", "client", "http.request.method", "http.request.method_original", "url.full",
    "url.template", "server.address", "server.port", "http.response.status_code", "error.type", "duration_s",
    "time_to_first_byte_s", "http.request.body.size", "http.response.body.size", "http.request.resend_count",
    "from_cache", "outcome", "trace_id", "span_id",
]
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
    bad = [c for c in text[:-1] if unicodedata.category(c) == "Cc" or c in "\u2028\u2029"]
    assert not bad, f"raw control characters: {bad}"
    value = json.loads(text, object_pairs_hook=members, parse_constant=refuse)
    assert list(value)[:3] == ORDER[:3], list(value)
    if value["event"] == "http.client.request":
        ranks = [RANK[key] for key in value if key in RANK]
        assert ranks == sorted(ranks), list(value)
        for key in ("client", "http.request.method", "duration_s", "outcome"):
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
