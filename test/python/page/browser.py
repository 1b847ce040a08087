"""A headless Chromium of Debian, and what tests ask a page in it.

The driver keeps the browser's console and network traffic, so that a test can say that a page
made no request and had no error."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest


def find() -> str | None:
    """The reason why there is no browser; None if there is one."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed"
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return f"there is no {program} (Debian: chromium chromium-driver)"
    return None


def start(folder: Path, *, width: int = 1280, height: int = 900, dark: bool = False):
    """A driver with a profile in `folder`."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                     "--disable-background-networking", "--disable-component-update",
                     "--hide-scrollbars", "--force-device-scale-factor=1", f"--window-size={width},{height}",
                     f"--user-data-dir={folder}"):
        options.add_argument(argument)
    if dark:
        options.add_argument("--force-dark-mode")
        options.add_argument("--enable-features=WebContentsForceDark:inversion_method/none")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_page_load_timeout(120)
    driver.set_script_timeout(120)
    return driver


class Page:
    """A report that is open in the browser."""

    def __init__(self, driver, url: str):
        self.driver = driver
        driver.get("about:blank")
        driver.get_log("performance")
        driver.get_log("browser")
        driver.get(url)
        self.url = url
        self.wait("return document.body.dataset.ready || document.querySelector('[role=alert]')")

    def run(self, script: str, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, script: str, seconds: float = 60):
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, seconds, poll_frequency=0.02).until(
            lambda driver: driver.execute_script(script))

    def find(self, selector: str):
        return self.driver.find_element("css selector", selector)

    def all(self, selector: str) -> list:
        return self.driver.find_elements("css selector", selector)

    def go(self, page: str) -> None:
        self.find(f"#to-{page}").click()
        self.wait(f"return !document.getElementById('page-{page}').hidden")

    def frame(self) -> None:
        """Waits until what was asked for has been drawn."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done));")

    def text(self, selector: str = "main") -> str:
        return self.find(selector).text

    def errors(self) -> list[str]:
        """Errors and warnings of the console."""
        return [entry["message"] for entry in self.driver.get_log("browser")
                if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self) -> list[str]:
        """Addresses that were asked for, less the page itself and what it holds."""
        asked = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                asked.append(message["params"]["request"]["url"])
        own = self.url.split("#")[0]
        return [url for url in asked if url.split("#")[0] != own and not url.startswith(("data:", "blob:", "about:"))]

    def violations(self) -> list[str]:
        """What axe finds, worst first: rule, how many places, the first one."""
        import axe_core_python

        source = Path(axe_core_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
        self.driver.execute_script(source)
        result = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then(done, (error) => done({error: "
            "`${error} ${error.stack}`}));")
        assert "error" not in result, f"axe could not look at the page: {result['error']}"
        return [f"{each['id']}: {len(each['nodes'])}: {[node['html'][:160] for node in each['nodes'][:2]]} "
                f"{[node.get('failureSummary', '')[:200] for node in each['nodes'][:1]]}"
                for each in result["violations"]]


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    if reason := find():
        pytest.skip(reason)
    made = start(tmp_path_factory.mktemp("profile"))
    yield made
    made.quit()
