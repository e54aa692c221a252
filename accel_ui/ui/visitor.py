"""Who asks: a name under which visitors take turns, and whether they may ask at all."""

from __future__ import annotations

import gradio as gr

from accel_ui.manager import PipelineManager
from accel_ui.requests import RequestError


def client_of(manager: PipelineManager, request: gr.Request, profile: gr.OAuthProfile | None) -> str:
    """The visitor's user name, or the address where nobody signs in.

    Raises:
        RequestError: this visitor has to sign in first.
    """
    if manager.settings.signs_in_at_hub:
        if profile is None:
            manager.metrics.refused("not_signed_in")
            raise RequestError(
                "Sign in with Hugging Face first: the button is at the top of the page.", "not_signed_in"
            )
        return profile.username
    return request.username or (request.client.host if request.client else "unknown")
