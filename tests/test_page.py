"""The page in a real Chromium."""

from __future__ import annotations

import pytest
from gradio_client import Client

from accel_ui.metadata import read_info
from conftest import PRESETS_FOR_THE_PAGE, ROOT, Server

SCREENSHOTS = ROOT / "screenshots"
VIEWS = {
    "desktop-light": (1280, 900, "light"),
    "desktop-dark": (1280, 900, "dark"),
    "phone-light": (390, 844, "light"),
    "phone-dark": (390, 844, "dark"),
}


@pytest.fixture
def open_page(browser, server):
    server.wait_until_loaded(Client(server.url, verbose=False))
    contexts = []

    def open_view(view: str = "desktop-light"):
        width, height, scheme = VIEWS[view]
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, accept_downloads=True
        )
        context.set_default_timeout(60_000)
        contexts.append(context)
        page = context.new_page()
        page.requested = []
        page.on("request", lambda request: page.requested.append(request.url))
        page.goto(f"{server.url}/?__theme={scheme}")
        page.wait_for_selector("#generate")
        page.wait_for_selector("#status .au-dot.ready")
        return page

    yield open_view
    for context in contexts:
        context.close()


def generate(page, prompt: str, preset: str | None = None) -> None:
    if preset:
        page.locator("#preset label", has_text=preset).click()
    page.fill("#prompt textarea", prompt)
    page.click("#generate")


@pytest.mark.parametrize("view", VIEWS)
def test_prompt_becomes_a_picture_that_carries_its_parameters(open_page, view):
    page = open_page(view)
    page.fill("#seed input, #seed textarea", "42")
    generate(page, "A red house on a green hill at night, stars")
    page.wait_for_selector("#picture img")
    page.wait_for_selector("text=seed 42")
    with page.expect_download() as download:
        page.locator("#picture button[aria-label='Download'], #picture a[download] button").first.click()
    info = read_info(download.value.path())
    assert (info["prompt"], info["seed"], info["preset"]) == (
        "A red house on a green hill at night, stars",
        42,
        "square",
    )
    first = page.locator("#picture img").get_attribute("src")
    generate(page, "A sailboat on the sea at sunset", "Draft")
    page.wait_for_function("first => document.querySelector('#picture img').src !== first", arg=first)


def test_stop_ends_a_long_run_and_the_next_one_works(open_page):
    page = open_page()
    generate(page, "A red house", "Slow")
    page.wait_for_selector("text=/Step [1-9][0-9]* of 400/")
    assert page.locator("#generate").is_disabled()
    page.click("#stop")
    page.wait_for_selector("#progress >> text=Stopped.")
    page.wait_for_function("!document.querySelector('#generate').disabled")
    generate(page, "A red house", "Draft")
    page.wait_for_selector("#picture img")


@pytest.mark.parametrize(
    ("prompt", "seed", "words"),
    [("", "", "The prompt is empty"), ("a house", "many", "whole number"), ("a house", "-1", "whole number")],
)
def test_mistake_gets_a_sentence_under_the_picture(open_page, prompt, seed, words):
    page = open_page()
    page.fill("#seed input, #seed textarea", seed)
    generate(page, prompt)
    page.wait_for_selector(f"#progress [role=alert] >> text={words}")
    page.fill("#seed input, #seed textarea", "")
    generate(page, "A red house", "Draft")
    page.wait_for_selector("#picture img")


def test_model_that_cannot_be_loaded_leaves_a_page_that_says_what_to_do(browser, tmp_path):
    broken = Server(tmp_path, ACCEL_UI_MODEL="/nowhere/at/all", ACCEL_UI_CACHE_DIR=str(tmp_path / "cache"))
    try:
        broken.wait_for_port()
        page = browser.new_page()
        page.set_default_timeout(60_000)
        page.goto(broken.url)
        page.wait_for_selector("#status >> text=ACCEL_UI_MODEL=…/all is no folder here")
        page.fill("#prompt textarea", "A red house")
        page.click("#generate")
        page.wait_for_selector("#progress [role=alert] >> text=no folder here")
        page.close()
    finally:
        broken.close()


def test_page_tells_what_the_embedded_model_can_draw(open_page):
    page = open_page()
    page.get_by_text("What this small model can draw").click()
    page.wait_for_selector("#guide >> text=lighthouse")
    guide = page.locator("#guide").inner_text()
    for words in ("northern lights", "No people", "ACCEL_UI_MODEL="):
        assert words in guide


def test_preset_states_and_reasons_are_shown(open_page):
    page = open_page()
    states = page.locator("#preset-states").inner_text()
    assert states.count("ready") >= 4
    page.get_by_role("tab", name="Device").click()
    page.wait_for_selector("#machine >> text=Placement")
    machine = page.locator("#machine").inner_text()
    for words in ("half precision is slower", "loaded from disk", "0 graphs compiled in the last"):
        assert words in machine


def test_negative_prompt_is_there_only_where_it_is_used(open_page):
    page = open_page()
    page.wait_for_selector("#negative textarea, #negative input")
    page.locator("#preset label", has_text="Draft").click()
    page.wait_for_selector("#negative textarea, #negative input", state="hidden")


def test_keyboard_generates_and_stops(open_page):
    page = open_page()
    page.locator("#preset label", has_text="Slow").click()
    page.fill("#prompt textarea", "A red house")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("text=/Step [1-9][0-9]* of 400/")
    page.keyboard.press("Escape")
    page.wait_for_selector("#progress >> text=Stopped.")


def test_link_opens_what_it_was_copied_from(open_page, server):
    page = open_page()
    page.fill("#seed input, #seed textarea", "77")
    generate(page, "A sailboat at sunset & a moon", "Draft")
    page.wait_for_selector("#progress >> text=seed 77")
    page.click("#share")
    page.wait_for_function("location.search.includes('seed=77')")
    other = open_page()
    other.goto(page.url)
    other.wait_for_function("document.querySelector('#prompt textarea')?.value === 'A sailboat at sunset & a moon'")
    assert other.input_value("#seed input, #seed textarea") == "77"
    assert other.is_checked("#preset input[value=draft]")
    other.goto(f"{server.url}/?prompt=hello&preset=nope&seed=-5")
    other.wait_for_selector("#progress [role=alert] >> text=no preset 'nope'")
    assert other.input_value("#prompt textarea") == "hello"


@pytest.mark.parametrize("view", ["desktop-light", "phone-dark"])
def test_dropped_picture_restores_the_fields(open_page, server, view):
    client = Client(server.url, verbose=False)
    picture, _ = client.predict(prompt="a tent in the snow", preset="portrait", seed=31, api_name="/generate")
    page = open_page(view)
    page.get_by_text("From a picture").click()
    page.set_input_files("#from-picture input[type=file]", picture)
    page.wait_for_selector("#restored >> text=are restored")
    assert page.input_value("#prompt textarea") == "a tent in the snow"
    assert page.input_value("#seed input, #seed textarea") == "31"
    assert page.is_checked("#preset input[value=portrait]")


def test_previews_are_shown_while_a_run_goes_on(open_page):
    page = open_page()
    for seed in ("611", "612", "613"):
        page.fill("#seed input, #seed textarea", seed)
        generate(page, "A sailboat on the sea at sunset", "Draft")
        page.wait_for_selector(f"#progress >> text=seed {seed}")
        page.wait_for_function("!document.querySelector('#generate').disabled")
    generate(page, "A red house", "Slow")
    page.wait_for_selector("text=/Step [1-9][0-9]* of 400/")
    page.wait_for_function("document.querySelector('#picture img')?.naturalWidth === 32")
    page.click("#stop")
    page.wait_for_selector("#progress >> text=Stopped.")


@pytest.mark.parametrize("view", ["desktop-light", "phone-dark"])
def test_history_survives_a_reload_and_is_private_to_the_browser(open_page, view):
    page = open_page(view)
    page.fill("#seed input, #seed textarea", "501")
    generate(page, "A red house at night", "Draft")
    page.wait_for_selector("#progress >> text=seed 501")
    page.fill("#seed input, #seed textarea", "502")
    generate(page, "A sailboat at sunset", "Portrait")
    page.wait_for_selector("#progress >> text=seed 502")
    page.wait_for_function("document.querySelectorAll('#pictures img').length === 2")
    page.reload()
    page.wait_for_function("document.querySelectorAll('#pictures img').length === 2")
    page.locator("#pictures img").nth(1).click()
    page.wait_for_function("document.querySelector('#prompt textarea')?.value === 'A red house at night'")
    assert page.input_value("#seed input, #seed textarea") == "501"
    assert page.is_checked("#preset input[value=draft]")
    page.wait_for_selector("#picture img")
    other = open_page()
    other.wait_for_timeout(1000)
    assert other.locator("#pictures img").count() == 0
    page.click("#delete")
    page.wait_for_function("document.querySelectorAll('#pictures img').length === 1")
    page.click("#clear")
    page.wait_for_selector("#history-said >> text=1 picture is deleted")
    assert page.locator("#pictures img").count() == 0


def test_history_survives_a_restart_of_the_server(browser, tmp_path):
    settings = {"ACCEL_UI_MODE": "eager", "ACCEL_UI_CACHE_DIR": str(tmp_path / "cache")}
    page = browser.new_page()
    page.set_default_timeout(90_000)
    port = None
    for start in range(2):
        server = Server(tmp_path, port, **settings)
        try:
            server.wait_for_port()
            port = server.port
            page.goto(server.url)
            page.wait_for_selector("#status .au-dot.ready")
            if start == 0:
                generate(page, "A red house at night", "Draft")
            page.wait_for_function("document.querySelectorAll('#pictures img').length === 1")
        finally:
            server.close()
    page.close()


def test_upload_that_is_too_large_or_no_picture_gets_a_sentence(open_page, tmp_path):
    page = open_page()
    page.get_by_text("From a picture").click()
    large, text = tmp_path / "large.png", tmp_path / "text.png"
    large.write_bytes(b"\x89PNG" + bytes(50_000_000))
    text.write_text("no picture")
    page.set_input_files("#from-picture input[type=file]", large)
    page.wait_for_selector("text=/exceeds|too large|maximum/i")
    page.reload()
    page.wait_for_selector("#generate")
    page.get_by_text("From a picture").click()
    page.set_input_files("#from-picture input[type=file]", text)
    page.wait_for_selector("#restored >> text=carries no parameters")


def test_pictures_in_a_row_are_runs_with_the_next_seeds(open_page):
    page = open_page()
    page.locator("#count label", has_text="3").click()
    page.fill("#seed input, #seed textarea", "900")
    generate(page, "A red house at night", "Draft")
    page.wait_for_selector("#progress >> text=seed 902")
    page.wait_for_function("document.querySelectorAll('#more img').length >= 3")
    page.wait_for_function("!document.querySelector('#generate').disabled")


@pytest.mark.parametrize("view", ["desktop-light", "phone-dark"])
def test_compare_shows_two_presets_of_one_seed(open_page, view):
    page = open_page(view)
    page.get_by_role("tab", name="Compare").click()
    page.fill("#compare-prompt textarea", "A lighthouse on the sea at sunset")
    page.fill("#left-seed input, #left-seed textarea", "31")
    page.click("#compare")
    page.wait_for_selector("#left-picture img")
    page.wait_for_selector("#left-said >> text=seed 31")
    page.wait_for_selector("#right-said >> text=/Step|seed 31/")
    page.click("#compare-stop")
    page.wait_for_function("!document.querySelector('#compare').disabled")
    page.fill("#compare-prompt textarea", "")
    page.click("#compare")
    page.wait_for_selector("#left-said [role=alert] >> text=The prompt is empty")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_accessibility_finding(open_page, scheme):
    """axe-core, on every tab, with a picture on the page."""
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(f"desktop-{scheme}")
    generate(page, "A red house at night", "Draft")
    page.wait_for_selector("#picture img")
    for tab in ("Create", "Compare", "Device"):
        page.get_by_role("tab", name=tab).click()
        page.wait_for_timeout(500)
        found = [
            (violation["id"], [node["html"][:200] for node in violation["nodes"]][:3])
            for violation in Axe().run(page).response["violations"]
            if violation["impact"] in ("serious", "critical")
        ]
        assert found == [], tab


def test_two_tabs_wait_for_each_other_and_stop_works_before_the_start(open_page):
    first, second = open_page(), open_page()
    generate(first, "A red house", "Slow")
    first.wait_for_selector("text=/Step [1-9][0-9]* of 400/")
    generate(second, "A sailboat", "Draft")
    second.wait_for_selector("#progress >> text=1 request before yours")
    second.click("#stop")
    second.wait_for_selector("#progress >> text=Stopped.")
    assert first.locator("#progress >> text=/Step/").count() == 1
    first.click("#stop")
    first.locator("#stop").click(force=True)
    first.wait_for_selector("#progress >> text=Stopped.")


def test_reload_in_mid_run_frees_the_accelerator(open_page):
    page = open_page()
    generate(page, "A red house", "Slow")
    page.wait_for_selector("text=/Step [1-9][0-9]* of 400/")
    page.reload()
    page.wait_for_selector("#generate")
    generate(page, "A sailboat", "Draft")
    page.wait_for_selector("#picture img")


def test_ten_clicks_are_one_run(open_page, server):
    client = Client(server.url, verbose=False)
    page = open_page()
    before = client.predict(api_name="/status")["runs"]
    page.fill("#prompt textarea", "A red house")
    page.evaluate("for (let i = 0; i < 10; i++) document.querySelector('#generate').click()")
    page.wait_for_selector("#picture img")
    page.wait_for_selector("#progress >> text=seed")
    page.wait_for_timeout(3000)
    assert client.predict(api_name="/status")["runs"] - before == 1


def test_compile_button_tells_what_happens(open_page):
    page = open_page()
    page.get_by_role("tab", name="Device").click()
    page.click("#compile")
    page.wait_for_selector("#compile-said >> text=square is ready")


@pytest.mark.parametrize("view", VIEWS)
def test_page_fits_and_fetches_nothing_from_elsewhere(open_page, server, view):
    page = open_page(view)
    generate(page, "A blue hot air balloon over snowy mountains")
    page.wait_for_selector("#picture img")
    page.wait_for_selector("#progress >> text=seed")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    outside = [url for url in page.requested if not url.startswith((server.url, "data:", "blob:"))]
    assert outside == []
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{view}.png", full_page=True)


def test_failed_load_is_tried_again_from_the_page(browser, tmp_path):
    (tmp_path / "presets.toml").write_text(PRESETS_FOR_THE_PAGE)
    server = Server(
        tmp_path, ACCEL_UI_MODEL="model", ACCEL_UI_MODE="eager", ACCEL_UI_CACHE_DIR=str(tmp_path / "cache"),
        ACCEL_UI_PRESETS="presets.toml",
    )  # fmt: skip
    page = browser.new_page()
    try:
        server.wait_for_port()
        page.goto(server.url)
        page.wait_for_selector("#status >> text=ACCEL_UI_MODEL=model is no folder here")
        (tmp_path / "model").symlink_to(ROOT / "accel_ui" / "tiny")
        page.click("#retry")
        page.wait_for_selector("#status .au-dot.ready", timeout=60_000)
        page.wait_for_selector("#retry", state="hidden")
        generate(page, "A red house")
        page.wait_for_selector("#picture img", timeout=60_000)
    finally:
        page.close()
        server.close()
