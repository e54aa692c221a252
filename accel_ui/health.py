"""/healthz, /readyz and /metrics: open to probes even where visitors must sign in, and with nothing private in them."""

from __future__ import annotations

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from accel_ui.manager import PipelineManager

UNEXPLAINED = {
    "loading": "the model is loading",
    "warming": "the graphs of the default preset are being made",
    "failed": "the server's log says why",
    "closing": "the server is shutting down",
}


def probe_routes(manager: PipelineManager) -> list[Route]:
    """The routes, for the web server that carries the page."""

    def healthz(request: Request) -> Response:
        """200 while the process lives."""
        return PlainTextResponse("ok\n")

    def readyz(request: Request) -> Response:
        """200 when the default preset answers at once, else 503 and the reason."""
        now = manager.readiness()
        closed = manager.settings.auth is not None  # then the reason is for those who signed in
        reason = UNEXPLAINED.get(now.state, "") if closed else now.reason
        headers = {} if now.ready else {"Retry-After": "5"}
        return JSONResponse(
            {"ready": now.ready, "state": now.state, "reason": reason}, 200 if now.ready else 503, headers
        )

    def metrics(request: Request) -> Response:
        """Prometheus' text format."""
        return Response(manager.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    endpoints = (healthz, readyz, metrics)
    return [Route(f"/{endpoint.__name__}", endpoint, include_in_schema=False) for endpoint in endpoints]
