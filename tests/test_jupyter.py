"""Two lines in the first cell of a notebook draw a chart: JupyterLab, seen in a browser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import pytest
from browser import colours, console_errors, requests_of
from helpers import needed, simulated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from selenium.webdriver.remote.webdriver import WebDriver

for package in ("ipykernel", "jupyterlab", "PIL", "vl_convert"):
    needed(package, ".[test,browser]")

CELL = (
    "import polars_graded as pg\n"
    'pg.evaluate(pg.datasets.example(), "dcg_curve@20", "ideal_dcg_curve@20", '
    'by=["strong", "fair", "weak"]).pipe(pg.charts.dcg_curves)'
)

# Altair's default renderer has the browser load Vega from cdn.jsdelivr.net, so it needs a network.
# Here the same scripts come from a file beside the notebook, to which the default renderer is sent:
# the names that it appends to an address fall behind the question mark. Without a network, people
# enable a renderer that draws in the kernel, such as `png`. The one that JupyterLab brings ends at
# Vega-Lite 5, which Altair 5 writes and Altair 6 does not.
RENDERERS = {
    "default": ('base_url="/files/vega.js?"', "text/html", "svg.marks, canvas.marks"),
    "svg": ("", "image/svg+xml", "img"),
    "png": ("ppi=144", "image/png", "img"),
}

OPEN = """
const [path, done] = arguments;
(async () => {
    while (!window.jupyterapp) await new Promise((resolve) => setTimeout(resolve, 50));
    await jupyterapp.restored;
    const notebook = await jupyterapp.commands.execute("docmanager:open", { path });
    await notebook.revealed;
    await notebook.sessionContext.ready;
})().then(() => done("open"), (error) => done(String(error)));
"""


class Lab(NamedTuple):
    """JupyterLab: its address with the key, its notebooks, what its kernels start with."""

    url: str
    notebooks: Path
    startup: Path


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab on this machine alone, with none of its user's settings."""
    import altair as alt
    import vl_convert

    folder = tmp_path_factory.mktemp("jupyter")
    notebooks, startup = folder / "notebooks", folder / "ipython/profile_default/startup"
    notebooks.mkdir()
    startup.mkdir(parents=True)
    vega_lite = ".".join(alt.SCHEMA_VERSION.split(".")[:2])
    scripts = vl_convert.javascript_bundle(vl_version=vega_lite)
    # Altair loads three scripts, here three times the same: names must not clash.
    (notebooks / "vega.js").write_text(f"(() => {{{scripts}}})();", encoding="utf-8")
    # It neither looks for a newer version nor asks whether it may fetch its makers' news.
    (folder / "config/labconfig").mkdir(parents=True)
    (folder / "config/labconfig/page_config.json").write_text(
        '{"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": true}}'
    )
    folders = {
        "IPYTHONDIR": "ipython",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
    }
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        *("--ServerApp.ip=localhost", "--ServerApp.port=0", f"--ServerApp.root_dir={notebooks}"),
        "--LabApp.expose_app_in_browser=True",
    ]
    environment = os.environ | {name: str(folder / path) for name, path in folders.items()}
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(command, env=environment, stdout=log, stderr=log) as server,  # noqa: S603
    ):
        try:
            yield Lab(_address(server, folder), notebooks, startup)
        finally:
            server.terminate()


def _address(server: subprocess.Popen[bytes], folder: Path) -> str:
    """Where JupyterLab is to be reached, which it writes into a file when it does."""
    deadline = time.monotonic() + 60
    while server.poll() is None and time.monotonic() < deadline:
        for file in (folder / "runtime").glob("jpserver-*.json"):
            with suppress(json.JSONDecodeError):
                info = json.loads(file.read_text())
                return f"{info['url']}lab?reset&token={info['token']}"
        time.sleep(0.1)
    pytest.fail(f"JupyterLab does not start:\n{(folder / 'log').read_text()}")


@pytest.mark.parametrize("renderer", ["default", *simulated("svg", "png")])
def test_two_lines_in_a_notebook_draw_a_chart(renderer: str, lab: Lab, page: WebDriver) -> None:
    import nbformat
    from nbformat.v4 import new_code_cell, new_notebook
    from selenium.webdriver import ActionChains, Keys
    from selenium.webdriver.support.wait import WebDriverWait

    options, mime, chart = RENDERERS[renderer]
    (lab.startup / "renderer.py").write_text(
        f"import altair; altair.renderers.enable({renderer!r}, {options})"
    )
    kernel = {"name": "python3", "display_name": "Python 3"}
    notebook = new_notebook(cells=[new_code_cell(CELL)], metadata={"kernelspec": kernel})
    nbformat.write(notebook, lab.notebooks / f"{renderer}.ipynb")

    page.get(lab.url)
    page.set_script_timeout(60)
    assert page.execute_async_script(OPEN, f"{renderer}.ipynb") == "open"
    cell = ".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook .jp-Cell"
    page.find_element("css selector", f"{cell} .cm-content").click()
    keys = ActionChains(page)
    keys.key_down(Keys.SHIFT).send_keys(Keys.ENTER).key_up(Keys.SHIFT).perform()

    outputs = f"{cell}:first-child .jp-OutputArea-output"
    wait = WebDriverWait(page, 30)
    wait.until(lambda page: page.find_elements("css selector", outputs))
    output, *more = page.find_elements("css selector", outputs)
    assert output.get_attribute("data-mime-type") == mime, output.text
    assert more == []
    drawn = wait.until(lambda _: output.find_elements("css selector", chart))[0]
    wait.until(lambda _: len(colours(drawn.screenshot_as_png)) >= 3, "a colour a strategy")
    assert drawn.size["width"] > 200
    assert drawn.size["height"] > 200
    # JupyterLab looks for language servers after a while, and finds none.
    assert [error for error in console_errors(page) if "/lsp/status" not in error] == []
    assert {urlsplit(url).netloc for url in requests_of(page)} == {urlsplit(lab.url).netloc}
