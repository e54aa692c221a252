"""The page in a real Chromium."""

from __future__ import annotations

import os
import shutil

import pytest
from gradio_client import Client

from accel_ui.pictures import read_info
from conftest import ROOT, Server

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SCREENSHOTS = ROOT / "screenshots"
VIEWS = {
    "desktop-light": (1280, 900, "light"),
    "desktop-dark": (1280, 900, "dark"),
    "phone-light": (390, 844, "light"),
    "phone-dark": (390, 844, "dark"),
}

if not CHROMIUM and not os.environ.get("CI"):
    pytest.skip("no Chromium on this machine: install Debian's package chromium", allow_module_level=True)


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


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


def test_prompt_becomes_a_picture_that_carries_its_parameters(open_page, tmp_path):
    page = open_page()
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
        page.wait_for_selector("#status >> text=ACCEL_UI_MODEL=/nowhere/at/all is no folder here")
        page.fill("#prompt textarea", "A red house")
        page.click("#generate")
        page.wait_for_selector("#progress [role=alert] >> text=no folder here")
        page.close()
    finally:
        broken.close()


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
