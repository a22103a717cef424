"""The page in a real browser: phones, keyboards, screen readers, hostile names, no network."""

import os
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from tests.report.reports import HOSTILE, endless, everything

BROWSER = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def browser():
    if BROWSER is None:
        if os.environ.get("SAMEBITS_REQUIRE_BROWSER"):
            pytest.fail("no Chromium: apt-get install chromium")
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as p:
        opened = p.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(params=[(360, "light"), (1280, "dark")], ids=["phone", "desktop"])
def page(browser, request, tmp_path):
    """The page of a report with everything, and what it asked of the network and said on the console."""
    width, scheme = request.param
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    opened = context.new_page()
    opened.heard = []
    opened.on("console", lambda m: opened.heard.append(m.text))
    opened.on("pageerror", lambda e: opened.heard.append(str(e)))
    opened.on("dialog", lambda d: (opened.heard.append("dialog"), d.dismiss()))
    opened.on("request", lambda r: opened.heard.append(r.url) if not r.url.startswith("file:") else None)
    everything().save_html(tmp_path / "r.html")
    opened.goto((tmp_path / "r.html").as_uri())
    yield opened
    context.close()


def test_nothing_is_fetched_or_run(page):
    page.wait_for_timeout(50)
    assert page.heard == []
    assert page.locator("script").count() == 0
    assert HOSTILE.replace("\u202e", "\\u202e") in page.locator("h1").inner_text()


def test_no_sideways_scrolling(page):
    wide, seen = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= seen


def test_words_of_a_table_have_room(page):
    """Squeezed into a narrow column they make rows that nobody reads."""
    widths = page.evaluate("[...document.querySelectorAll('td:last-child')].map(r => r.getBoundingClientRect().width)")
    assert len(widths) == 6
    assert min(widths) >= 240


def test_readers_find_their_way(page):
    assert page.locator("html").get_attribute("lang") == "en"
    assert [page.locator(tag).count() for tag in ("main", "header", "footer", "h1")] == [1, 1, 1, 1]
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map(h => +h.tagName[1])")
    assert all(b <= a + 1 for a, b in pairwise(levels))
    assert page.locator("table").count() == page.locator("table caption").count() == 2
    assert page.locator("th:not([scope])").count() == 0
    assert page.locator("svg").count() == 4
    assert page.locator("svg:not([role=img])").count() == 0
    assert all(page.evaluate("[...document.querySelectorAll('svg')].map(s => s.getAttribute('aria-label'))"))
    assert page.locator("section:not([aria-labelledby])").count() == 0
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    named = page.evaluate("[...document.querySelectorAll('section')].map(s => s.getAttribute('aria-labelledby'))")
    assert set(named) <= set(ids)


def test_a_keyboard_reaches_what_scrolls_and_opens(page):
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.className + ' ' + document.activeElement.tagName"))
    assert {"skip A", "scroll DIV", " PRE", " SUMMARY"} <= reached
    summary = page.locator("details summary").first
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator("details").first.get_attribute("open") is not None


def test_words_stand_out_from_their_background(page):
    """At least 4.5 to 1 (WCAG 1.4.3) for every text of the page's own colours."""
    ratios = page.evaluate((Path(__file__).parent / "contrast.js").read_text())
    assert len(ratios) > 30
    assert min(ratios) >= 4.5


def test_other_reports(browser, tmp_path):
    opened = browser.new_page(viewport={"width": 360, "height": 800})
    for report in (endless(), everything(verdict="holds", axes=(), first=None, findings=(), profile=(), trees=(),
                                         causes=(), advice=(), witnesses=(), magnified=None, notes=())):  # fmt: skip
        report.save_html(tmp_path / "r.html")
        opened.goto((tmp_path / "r.html").as_uri())
        assert report.verdict in opened.locator("h1").inner_text()
        assert opened.evaluate("document.documentElement.scrollWidth") <= 360
    opened.close()
