from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest


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
