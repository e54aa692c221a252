from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator:
    """A real Chromium."""
    if not CHROMIUM and not os.environ.get("CI"):
        pytest.skip("no Chromium on this machine: install Debian's package chromium")
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser) -> Iterator[Callable]:
    """`open_page(url)`: the page of a server whose model is loaded."""
    contexts = []

    def open_view(url: str):
        context = browser.new_context(accept_downloads=True)
        context.set_default_timeout(120_000)
        contexts.append(context)
        page = context.new_page()
        page.goto(url)
        page.wait_for_selector("#generate")
        page.wait_for_selector("#status .au-dot.ready")
        return page

    yield open_view
    for context in contexts:
        context.close()
