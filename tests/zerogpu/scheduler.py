"""A stand-in for the service of ZeroGPU that lends GPUs: says yes, unless it is told to refuse, and writes down what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class Scheduler:
    """One GPU for everybody.

    Attributes:
        asked: (path, query) of every request, in order.
        quota_is_used_up: answer as to a visitor who has none left.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.quota_is_used_up = False

    def queries(self, path: str) -> list[dict[str, str]]:
        """Of the requests for `path`."""
        return [query for where, query in self.asked if where == path]

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Its address."""
        scheduler = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                address = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(address.query).items()}
                scheduler.asked.append((address.path, query))
                status, answer = 200, {}
                if address.path == "/schedule":
                    answer = {"idle": False, "nvidiaIndex": 0, "nvidiaUUID": "GPU-stand-in", "allowToken": "token"}
                    if scheduler.quota_is_used_up:
                        status, answer = 429, {"left": 0, "wait": 3600}
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: object) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_port}"
            server.shutdown()
