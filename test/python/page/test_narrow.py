"""Pages on a telephone, 420 px wide, and the contrast of what is drawn."""

from __future__ import annotations

import re

import pytest

import browser
from browser import driver  # noqa: F401
from page_models import folder, small, trained  # noqa: F401

from tool import ROOT

#: Elements that stick out of the window, or of a card, and are not in a box that scrolls.
STICKING_OUT = """
  const scrolled = (element) => { for (let each = element.parentElement; each && each.tagName !== "MAIN"; each = each.parentElement)
    if (["auto", "scroll", "hidden"].includes(getComputedStyle(each).overflowX)) return true; return false; };
  return [...document.querySelectorAll("main *")].filter((element) => {
    const area = element.getBoundingClientRect(), card = element.closest(".card, details.finding");
    return area.width && !scrolled(element) &&
      (area.right > innerWidth + 1 || (card && area.right > card.getBoundingClientRect().right + 1)); })
    .map((element) => `${element.tagName} ${element.className} ${element.textContent.slice(0, 40)}`);"""
#: Names that are broken into pieces of fewer than six letters.
BROKEN = """
  return [...document.querySelectorAll("main bdi.mono")].filter((element) => {
    const length = element.textContent.length, lines = element.getClientRects().length;
    return element.offsetParent && length > 6 && lines > 1 && length / lines < 6; }).map((element) => element.textContent);"""
#: Letters in drawings, in pixels of the screen.
SMALL_LETTERS = """
  return [...document.querySelectorAll("main svg text")].filter((text) => text.getBoundingClientRect().width).filter((text) => {
    const svg = text.ownerSVGElement, scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    return parseFloat(getComputedStyle(text).fontSize) * scale < 9; }).map((text) => text.textContent);"""


@pytest.fixture
def narrow(driver):  # noqa: F811
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 420, "height": 900, "deviceScaleFactor": 1, "mobile": True})
    yield driver
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("which", ["small", "trained"])
def test_fits_a_telephone(narrow, request, which):
    page = browser.Page(narrow, request.getfixturevalue(which).as_uri())
    pages = page.run("return [...document.querySelectorAll('#pages a')].map((link) => link.id.slice(3))")
    assert len(pages) > 3
    for one in pages:
        page.go(one)
        page.frame()
        assert page.run("return document.scrollingElement.scrollWidth") <= 420, one
        assert not (found := page.run(STICKING_OUT)), (one, found[:3])
        assert not (found := page.run(BROKEN)), (one, found[:3])
        assert not (found := page.run(SMALL_LETTERS)), (one, found[:3])
        link = page.run("const area = document.querySelector('#pages a[aria-current]').getBoundingClientRect(); return [area.left, area.right]")
        assert 0 <= link[0] and link[1] <= 420, one
    assert not page.errors()


def test_names_keep_layer_numbers(driver):  # noqa: F811
    source = (ROOT / "lib/Report/Page/names.js").read_text(encoding="utf-8")

    def cut(name):
        return driver.execute_script(f"{source}\nreturn abbreviated(arguments[0], 26);", name)

    names = [cut(f"model.layers.{layer}.self_attn.q_proj.weight") for layer in range(12)]
    assert names[7] == "m.l.7.s.q_proj.weight" and len(set(names)) == 12
    assert cut("model.norm") == "model.norm"
    assert len(cut("x" * 100)) == 26


def _colours() -> dict[str, dict[str, str]]:
    text = (ROOT / "lib/Report/Page/page.css").read_text(encoding="utf-8")
    blocks = re.findall(r":root(\[data-theme=\"dark\"\])? \{(.*?)\}", text, re.S)
    return {"dark" if dark else "light": dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for dark, block in blocks}


def _luminance(colour: str) -> float:
    """Relative luminance, WCAG 2.2."""
    parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= .04045 else ((part + .055) / 1.055) ** 2.4 for part in parts]
    return .2126 * linear[0] + .7152 * linear[1] + .0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + .05) / (low + .05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast(theme):
    colours = _colours()[theme]
    for drawn in ("past", "tight", "near", "fair", "wide"):
        for ground in ("card", "back"):
            assert _contrast(colours[drawn], colours[ground]) >= 3, (drawn, ground)
    for drawn in ("past", "tight", "near", "fair", "wide", "none"):
        assert _contrast(colours[drawn], colours[f"on-{drawn}"]) >= 4.5, drawn
    for text in ("ink", "soft", "accent", "error", "warning", "note", "good"):
        assert _contrast(colours[text], colours["card"]) >= 4.5, text
    for kind in ("error", "warning", "note", "good"):
        assert _contrast(colours[kind], colours[f"{kind}-back"]) >= 4.5, kind
