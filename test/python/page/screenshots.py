"""Pictures of the pages of a report, as docs/html.md shows them.

    PYTHONPATH=test/python/page python3 test/python/page/screenshots.py REPORT.html OUT/PREFIX [dark]

Writes OUT/PREFIX-PAGE.png, 256 colours each, of every page; of the findings with one open, of the
map with the path of a finding."""

import io
import pathlib
import sys
import tempfile

import browser
from PIL import Image


def settle(page):
    page.frame()
    page.frame()


def prepare(page, name):
    if name == "findings" and (found := page.all("details.finding summary")):
        found[0].click()
    if name == "map":
        page.run("const found = window.mpoptReport.report.findings.find((each) => each.cause.length > 2 && window.mpoptReport.view.canShow(each));"
                 "if (found) window.mpoptReport.view.show(found);")


def main(file, prefix, theme="light"):
    with tempfile.TemporaryDirectory() as folder:
        driver = browser.start(pathlib.Path(folder), width=1180, height=1040)
        try:
            page = browser.Page(driver, pathlib.Path(file).resolve().as_uri())
            page.run("if (document.documentElement.dataset.theme !== arguments[0]) document.getElementById('theme').click()", theme)
            for name in page.run("return [...document.querySelectorAll('#pages a')].map((link) => link.id.slice(3))"):
                page.go(name)
                prepare(page, name)
                settle(page)
                page.run("window.scrollTo(0, 0)")
                image = Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")
                path = pathlib.Path(f"{prefix}-{name}.png")
                image.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(path, optimize=True)
                print(path, path.stat().st_size)
        finally:
            driver.quit()


if __name__ == "__main__":
    main(*sys.argv[1:])
