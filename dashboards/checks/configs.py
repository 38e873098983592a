"""The servers that ../prometheus configures, together: alerts arrive, and other servers get what is recorded."""

import re

from stack.programs import get, until
from stack.prometheus import Prometheus


def check(stage):
    wrong = []
    store = stage.run(Prometheus("global: {}\n", stage.folder, stage.ports["store"], (), ["--web.enable-remote-write-receiver"]))
    native, classic, federation = stage.native, stage.classic, stage.prometheus("federation.yml")
    recorded = "job:http_client_request_duration_seconds_count:rate5m"

    def expect(server, what, expression):
        try:
            until(what, lambda: server.query(expression))
        except TimeoutError as error:
            wrong.append(f"{error}: {expression}")

    expect(native, "target of a fixed address", 'up{job="demo"} == 1')
    expect(native, "target from a file", 'up{job="shop"} == 1')
    expect(store, "recorded series by remote write", f'{recorded}{{cluster="main", replica="a", job="demo"}}')
    expect(federation, "recorded series by federation", f'{recorded}{{cluster="main", job="demo"}}')
    for name, server in ("store", store), ("federation", federation):
        if server.query('{__name__=~"http_client_.+", __name__!~".*:.*"}'):
            wrong.append(f"{name}: there are series of instances, and not only recorded ones")
    wanted = ("/ticket", "HTTPClientTimeouts")
    try:
        until("notification", lambda: wanted in stage.receiver.alerts)
    except TimeoutError as error:
        wrong.append(f"alertmanager: {error} of {wanted}, but of {sorted(stage.receiver.alerts)}")
    wrong += [f"{rule}" for server in (native, classic) for rule in server.unhealthy_rules()]
    wrong += [f"prometheus: {error}" for error in re.findall(r'"lastError":"([^"]+)"', get(f"{native.url}/api/v1/targets") or "")]
    return "a server with an Alertmanager, one that writes to a store, one that federates", wrong
