"""Nonsense from outside: a sentence or a refusal, never a 500, a traceback or a hang."""

from __future__ import annotations

import json
import urllib.parse

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accel_ui.catalogue import TINY
from accel_ui.errors import UserError
from accel_ui.metadata import restore
from accel_ui.presets import read_presets
from accel_ui.requests import MAX_SEED, GenerationRequest
from accel_ui.ui.share import read_link
from conftest import Server

PRESETS = {preset.id: preset for preset in TINY.presets}
QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=50),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


def outcome(call):
    """What `call` gives, or the sentence of its refusal."""
    try:
        return call(), ""
    except UserError as error:
        return None, str(error)


TRACES = ("Traceback", 'File "/', "site-packages")


@QUICK
@given(prompt=JSON, preset=JSON | st.sampled_from(list(PRESETS)), seed=JSON, negative=JSON)
def test_request_is_valid_or_refused_with_one_line(prompt, preset, seed, negative):
    request, said = outcome(lambda: GenerationRequest.checked(prompt, preset, seed, negative, presets=PRESETS))
    if request:
        assert request.prompt.strip()
        assert 0 <= request.seed <= MAX_SEED
    assert len(said.splitlines()) <= 1
    assert len(said) < 300


@QUICK
@given(
    text=st.text(max_size=300)
    | st.lists(
        st.tuples(
            st.sampled_from(["height", "width", "steps", "guidance_scale", "images", "max_sequence_length", "label", "x"]),
            JSON,
        ),
        max_size=8,
    ).map(lambda pairs: "[presets.a]\n" + "\n".join(f"{name} = {json.dumps(value)}" for name, value in pairs))
)  # fmt: skip
def test_presets_file_is_read_or_refused(tmp_path, text):
    path = tmp_path / "presets.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    presets, said = outcome(lambda: read_presets(path))
    assert all(preset.height > 0 and preset.steps > 0 for preset in presets or ())
    assert presets or len(said.splitlines()) == 1


@QUICK
@given(data=st.binary(max_size=400), chunk=st.text(max_size=200) | JSON.map(json.dumps))
def test_picture_from_anywhere_is_read_or_refused(tmp_path, data, chunk):
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    noise, picture, info = tmp_path / "noise.png", tmp_path / "picture.png", PngInfo()
    noise.write_bytes(data)
    for name in ("accel_ui", "parameters", "workflow"):
        info.add_text(name, chunk.encode("latin-1", "replace").decode("latin-1").replace("\0", ""))
    Image.new("RGB", (2, 2)).save(picture, pnginfo=info)
    for path in (noise, picture):
        found = restore(path, PRESETS, "tiny")
        assert found.prompt or found.notices


@QUICK
@given(query=st.dictionaries(st.sampled_from(["prompt", "preset", "seed", "x"]), st.text(max_size=100)))
def test_link_from_anywhere_is_read(query):
    shared = read_link(query, PRESETS)
    assert shared.preset is None or shared.preset in PRESETS


@pytest.fixture(scope="module")
def web(server: Server):
    with httpx.Client(base_url=server.url, timeout=60) as web:
        server.wait_for_port()
        yield web


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(body=JSON | st.fixed_dictionaries({"data": st.lists(JSON, max_size=5)}))
@pytest.mark.parametrize("name", ["presets", "status"])
def test_any_body_is_answered(web, name, body):
    answer = web.post(f"/gradio_api/call/{name}", content=json.dumps(body, default=str).encode("utf-8", "replace"))
    assert_plain(answer)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(values=st.lists(JSON, min_size=1, max_size=6))
def test_any_value_for_generate_is_a_sentence(web, values):
    values[1:2] = ["no-such-preset"]  # nothing here is to reach the accelerator
    posted = web.post("/gradio_api/call/generate", content=json.dumps({"data": values}).encode("utf-8", "replace"))
    assert_plain(posted)
    if posted.status_code == 200:
        answer = web.get(f"/gradio_api/call/generate/{posted.json()['event_id']}")
        assert_plain(answer)
        assert "event: error" in answer.text


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(query=st.dictionaries(st.text(min_size=1, max_size=10), st.text(max_size=60), max_size=5))
def test_any_query_string_opens_the_page(web, query):
    answer = web.get("/?" + urllib.parse.urlencode(query, errors="replace"))
    assert_plain(answer)
    assert answer.status_code == 200


def test_own_openapi_file_holds_no_surprise(server, web):
    """Schemathesis against the endpoints that the app's own file describes."""
    schema = schemathesis.openapi.from_dict(web.get("/gradio_api/openapi.json").json())
    schema.config.update(base_url=server.url)

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=st.one_of(*(operation.ok().as_strategy() for operation in schema.get_all_operations())))
    def ask(case) -> None:
        try:
            answer = case.call(base_url=server.url, timeout=60)
        except requests.exceptions.ChunkedEncodingError:
            return  # Gradio's own answer to an event id that it does not know: the stream ends
        assert answer.status_code < 500, case
        assert not any(trace in answer.text for trace in TRACES), case

    ask()


def assert_plain(answer: httpx.Response) -> None:
    assert answer.status_code < 500
    assert not any(trace in answer.text for trace in TRACES)
