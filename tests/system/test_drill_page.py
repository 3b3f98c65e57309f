"""The page of a drill in a real browser: wide and narrow, light and dark, and as it is printed."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from airflow_provider_mm2.mirror.drill.page import html_page, shown_number, summary_line
from tests.mirror.drill.test_page import at, report

pytestmark = pytest.mark.system

NUMBERS = """return [...document.querySelectorAll('[data-path]')]
    .map(node => [node.dataset.path, node.dataset.value, node.textContent.trim()]);"""
WIDER = "return document.documentElement.scrollWidth - document.documentElement.clientWidth;"


def program(name: str) -> str:
    """Path of a program of Debian's; without it the test fails."""
    found = shutil.which(name)
    assert found is not None, f"there is no {name}; `make test-system` installs it"
    return found


@pytest.fixture
def browser() -> Iterator[Chrome]:
    """Give a browser without a window."""
    options = ChromeOptions()
    options.binary_location = program("chromium")
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=Service(program("chromedriver")))
    yield driver
    driver.quit()


@pytest.fixture
def document() -> dict[str, Any]:
    """Give a drill's document."""
    made: dict[str, Any] = json.loads(json.dumps(report(missing=3, mode="unplanned", rto_s=30).to_json()))
    return made


@pytest.fixture
def page(document: dict[str, Any], tmp_path: Path) -> str:
    """Give the address of its page, with five drills before it."""
    file = tmp_path / "drill.html"
    file.write_text(html_page(document, [json.loads(summary_line(document))] * 6), encoding="utf-8")
    return file.as_uri()


def narrow(browser: Chrome, width: int) -> None:
    """Give the page a width, whatever a window's least is."""
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def test_numbers_and_console(browser: Chrome, page: str, document: dict[str, Any]) -> None:
    """Every number on the page is the document's, and the console has nothing to say."""
    browser.get(page)
    shown = browser.execute_script(NUMBERS)
    assert len(shown) > 30
    for path, value, text in shown:
        expected = at(document, path)
        assert json.loads(value) == expected, path
        assert text == shown_number(expected), path
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("width", [320, 360, 768, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_scrolls_sideways(browser: Chrome, page: str, width: int, scheme: str) -> None:
    """From a phone to a wide screen, light and dark: the page keeps its width, and text stands out from its ground."""
    narrow(browser, width)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get(page)
    assert browser.execute_script(WIDER) == 0
    ink, paper = browser.execute_script(
        "const style = getComputedStyle(document.body); return [style.color, style.backgroundColor];"
    )
    assert abs(brightness(ink) - brightness(paper)) > 120
    assert (brightness(paper) < 128) == (scheme == "dark")


def brightness(color: str) -> float:
    """From 0 (black) to 255."""
    red, green, blue = (int(part) for part in color[color.index("(") + 1 : -1].split(",")[:3])
    return 0.299 * red + 0.587 * green + 0.114 * blue


def test_every_chart_has_a_name_and_is_drawn(browser: Chrome, page: str) -> None:
    """Each figure has a label for those who cannot see it, and a drawing with a size."""
    browser.get(page)
    figures = browser.execute_script(
        "return [...document.querySelectorAll('figure')].map(each => [each.getAttribute('aria-label'), "
        "each.querySelector('svg').getBoundingClientRect().height]);"
    )
    assert len(figures) == 6
    assert all(label and height > 50 for label, height in figures)


def test_printed(browser: Chrome, page: str) -> None:
    """It can be printed: some pages of PDF, black on white whatever the screen has."""
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    )
    browser.get(page)
    printed = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    assert printed.startswith(b"%PDF")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert brightness(browser.execute_script("return getComputedStyle(document.body).backgroundColor;")) == 255
