"""The service that the app asks: answers every item, and writes down the traceparent of each request.

    python3 upstream.py FOLDER

Its port goes to FOLDER/upstream-port, the headers to FOLDER/traceparents. Item 0 is answered when FOLDER/release is there.
"""

import http.server
import pathlib
import sys
import threading
import time

FOLDER = pathlib.Path(sys.argv[1])
LOCK = threading.Lock()


class Stock(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        with LOCK, open(FOLDER / "traceparents", "a") as headers:
            headers.write(self.headers.get("traceparent", "") + "\n")
        if self.path == "/items/0":
            (FOLDER / "asked").touch()
            deadline = time.monotonic() + 30
            while not (FOLDER / "release").exists() and time.monotonic() < deadline:
                time.sleep(0.01)
        body = b'{"left": 3}\n'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stock)
port = FOLDER / "upstream-port.new"
port.write_text(str(server.server_port))
port.rename(FOLDER / "upstream-port")
server.serve_forever()
