"""Takes the notifications of an Alertmanager."""

import http.server
import json
import threading


class Receiver(http.server.ThreadingHTTPServer):
    """`alerts` are the paths that were notified, each with the name of the alert."""

    def __init__(self):
        self.alerts = set()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                receiver.alerts |= {(self.path, alert["labels"]["alertname"]) for alert in body["alerts"]}
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
