"""A real browser."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Error, sync_playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium, without a window.

    Playwright keeps an event loop running in this thread meanwhile, beside which no asynchronous
    test can run. So it ends with the module.
    """
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(PROGRAMS)} is installed")
    with sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        except Error as error:
            pytest.skip(f"{program} does not start: {error.message.splitlines()[0]}")
        yield started
        started.close()
