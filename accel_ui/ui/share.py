"""Links that carry a prompt, a preset and a seed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from accel_ui.requests import GenerationRequest, RequestError

# Runs in the browser: makes the link of the picture that is shown, or of the fields when there is none yet, copies it,
# and puts it into the address bar, where it can be copied by hand too.
COPY_LINK = """
async (info, prompt, preset, seed) => {
  const values = info && info.prompt ? {prompt: info.prompt, preset: info.preset, seed: info.seed} : {prompt, preset, seed};
  const link = new URL(window.location.href);
  link.search = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== "" && value != null));
  history.replaceState(null, "", link);
  let told = "The link is in the address bar.";
  try { await navigator.clipboard.writeText(link.href); told = "The link is copied."; } catch {}
  document.querySelector("#share-said").textContent = told;
}
"""


@dataclass(frozen=True)
class Shared:
    """What a link asks the page to show; None keeps a field as it is."""

    prompt: str | None = None
    preset: str | None = None
    seed: str | None = None
    notice: str = ""


def read_link(query: Mapping[str, str], presets: Collection[str]) -> Shared:
    """Reads the query string of the page; values that cannot be used are left out, and said."""
    prompt, preset, seed = (query.get(name) for name in ("prompt", "preset", "seed"))
    problems = []
    known = next(iter(presets), "")
    if preset is not None and preset not in presets:
        problems.append(f"There is no preset {preset[:40]!r} here.")
        preset = None
    try:
        if seed is not None:
            GenerationRequest.checked("x", known, seed, presets=presets)
    except RequestError as error:
        problems.append(str(error))
        seed = None
    try:
        if prompt is not None:
            GenerationRequest.checked(prompt, known, presets=presets)
    except RequestError as error:
        problems.append(str(error))
        prompt = None
    return Shared(prompt, preset, seed, " ".join(problems))
