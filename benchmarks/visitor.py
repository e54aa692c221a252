"""One visitor of a Gradio server: one session, as a browser tab has it."""

from __future__ import annotations

import http.client
import json
import secrets
import time
from typing import Any


class Visitor:
    """Asks over plain HTTP: posts the values, reads the stream of events, fetches the picture."""

    def __init__(self, port: int):
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        self._session = secrets.token_hex(6)

    def ask(self, name: str, *data: Any) -> list[Any]:
        """What the endpoint answers at the end.

        Raises:
            RuntimeError: when it answers with an error.
        """
        body = json.dumps({"data": data, "session_hash": self._session})
        path = f"/gradio_api/call/{name}"
        self._connection.close()  # the server closes one that waited; the next request opens another
        self._connection.request("POST", path, body, {"Content-Type": "application/json"})
        event_id = json.loads(self._connection.getresponse().read())["event_id"]
        self._connection.request("GET", f"{path}/{event_id}")
        event, answer = "", None
        for raw in self._connection.getresponse():
            line = raw.decode().strip()
            if line.startswith("event: "):
                event = line.removeprefix("event: ")
            elif line.startswith("data: ") and event in ("complete", "error"):
                answer = json.loads(line.removeprefix("data: "))
                if event == "error":
                    raise RuntimeError(f"/{name} answered {answer}")
        return answer

    def draw(self, *data: Any) -> tuple[float, list[Any]]:
        """Seconds until the picture's bytes are here, and the endpoint's answer."""
        started = time.perf_counter()
        answer = self.ask("generate", *data)
        url = answer[0]["url"]
        self._connection.request("GET", url[url.index("/gradio_api") :])
        if not self._connection.getresponse().read().startswith((b"\x89PNG", b"RIFF")):
            raise RuntimeError("no picture came")
        return time.perf_counter() - started, answer
