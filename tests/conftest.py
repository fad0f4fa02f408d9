"""What several test files need: settings of hypothesis, the folder of real data, a browser."""

from __future__ import annotations

import gc
import json
import os
import shutil
import tomllib
from contextlib import suppress
from fnmatch import fnmatch
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import pytest
from altair.utils import schemapi
from browser import FLAGS, LOGS, console_errors, requests_of, waited
from helpers import needed
from hypothesis import Phase, settings

from polars_graded import read_letor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import polars as pl
    from selenium.webdriver.remote.webdriver import WebDriver

# To compile ranx's functions takes three times as long as to run them as the Python they are.
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")
# The tests share out the cores, each of which would otherwise have as many threads again.
for library in ("OMP", "OPENBLAS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# Altair checks each part of a chart as it is built, and the whole before it is written. The fixture
# `checked` turns the checks of parts on for the tests that draw every chart.
schemapi.DEBUG_MODE = False

# Charts consist of many small objects. Looking for cycles among them takes a fifth of the
# time of their tests.
gc.set_threshold(200_000, 50, 100)

settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=10)
settings.register_profile("searching", deadline=None, max_examples=25, print_blob=True)
settings.register_profile(
    "planted", settings.get_profile("repeatable"), phases=[Phase.explicit, Phase.generate]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

SKIPS = Path(__file__).with_name("skips.toml")
"""Patterns of the reasons for which tests may be skipped, each with why that is no loss."""

collect_ignore = ["benchmark/figure.py"]
"""A script that imports what stands beside it."""


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data."""
    folder = os.environ.get("POLARS_GRADED_DATA")
    if folder is None:
        pytest.skip("no real data: POLARS_GRADED_DATA=… names their folder, see CONTRIBUTING")
    return Path(folder)


@pytest.fixture(scope="session")
def ohsumed(data: Path) -> pl.DataFrame:
    """OHSUMED: 106 queries, with 25 features of each document."""
    return read_letor([data / f"ohsumed/fold{fold}.testset.txt.gz" for fold in range(1, 6)])


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what needs a browser, so that `-m "not browser"` does without."""
    if "chromium" in getattr(item, "fixturenames", ()):
        item.add_marker("browser")


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebDriver]:
    """One headless Chromium for all tests, which log what it does; a test takes a `page` of it."""
    needed("selenium", ".[test,browser]")
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("no chromium: apt-get install chromium chromium-driver fonts-liberation")
    options = ChromeOptions()
    options.binary_location = browser
    options.set_capability("goog:loggingPrefs", LOGS)
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"]:
        options.add_argument(flag)
    # Selenium looks for no driver on the network when it is told of one.
    service = Service(driver)
    try:
        started = Chrome(options=options, service=service)
        # A browser without any font ends where it looks for one.
        text = "<p style='font-family: system-ui'>− … μ φ</p><pre>text</pre><input value=text>"
        started.get(f"data:text/html,{text}<svg><text y=20>text</text></svg>")
        started.get_screenshot_as_png()
    except WebDriverException as error:
        service.stop()
        pytest.skip(f"chromium does not run here: {str(error.msg).splitlines()[0]}")
    with started:
        yield started


@pytest.fixture
def checked() -> Iterator[None]:
    """Altair checks each part of a chart against its schema, as it does for users."""
    with schemapi.debug_mode(True):
        yield


@pytest.fixture
def page(chromium: WebDriver) -> WebDriver:
    """The browser at an empty page, its logs empty too."""
    chromium.get("about:blank")
    console_errors(chromium)
    requests_of(chromium)
    return chromium


@pytest.fixture
def drawn(page: WebDriver, tmp_path: Path) -> Callable[[Any], WebDriver]:
    """Opens a chart in the browser, drawn as SVG, its view called `view`."""
    import altair as alt
    import vl_convert

    version = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    scripts = vl_convert.javascript_bundle(vl_version=version)
    (tmp_path / "vega.js").write_text(f"(() => {{{scripts}}})();", encoding="utf-8")

    def drawn(chart: Any) -> WebDriver:
        spec = json.dumps(chart.to_dict())
        (tmp_path / "chart.html").write_text(
            "<!doctype html><meta charset=utf-8><div id=chart></div><script src=vega.js></script>"
            f"<script>vegaEmbed('#chart', {spec}, {{renderer: 'svg', actions: false}})"
            ".then((drawn) => { window.view = drawn.view; });</script>",
            encoding="utf-8",
        )
        page.get((tmp_path / "chart.html").as_uri())
        waited(page, lambda: page.execute_script("return !!window.view"))
        return page

    return drawn


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With `LISTED_SKIPS` set, fail where the reason of a skipped test is not on the list."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or "LISTED_SKIPS" not in os.environ:
        return
    listed = tomllib.loads(SKIPS.read_text(encoding="utf-8"))
    reasons = {report.longrepr[2] for report in reporter.stats.get("skipped", ())}
    for reason in sorted(reasons):
        if not any(fnmatch(reason.removeprefix("Skipped: "), pattern) for pattern in listed):
            reporter.write_line(f"{reason} (tests/skips.toml does not list this reason)", red=True)
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session", autouse=True)
def shared_scripts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Read the scripts and compile the template of a page once: tests write hundreds of pages."""
    import jinja2

    folder = tmp_path_factory.mktemp("templates")
    compiled = jinja2.FileSystemBytecodeCache(str(folder))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jinja2, "Environment", partial(jinja2.Environment, bytecode_cache=compiled))
        with suppress(ImportError):
            import vl_convert

            bundle = vl_convert.javascript_bundle
            patch.setattr(vl_convert, "javascript_bundle", cache(bundle))
        yield


@pytest.fixture(scope="module")
def charts_undrawn() -> Iterator[None]:
    """Write reports without charts, which take most of their time.

    Tests of the numbers and sentences of reports write hundreds.
    """
    from polars_graded._report import sections

    with pytest.MonkeyPatch.context() as patch:
        figure = sections.Figure("none", "none", False)
        patch.setattr(sections.Figures, "draw", lambda *_, **__: figure)
        patch.setattr(sections, "charts", MagicMock())
        yield
