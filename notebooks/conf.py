"""Configuration of the book, which `sphinx-build -W --keep-going notebooks build/book` builds.

A page is Markdown, reStructuredText or a notebook. The build runs the code of pages, but not that
of notebooks, whose committed outputs are shown. The book needs no network: the scripts that draw
charts and formulas are copied into it.
"""

from __future__ import annotations

import atexit
import inspect
import json
import operator
import os
import re
import shutil
import socket
import tempfile
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.nodes import make_refnode

import polars_graded
from polars_graded._report.page import load_drawing_scripts

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).parent
SCRATCH = Path(tempfile.mkdtemp(prefix="book"))
"""Files of one build: bundled scripts, and the settings of the kernels that run code."""

atexit.register(shutil.rmtree, SCRATCH, ignore_errors=True)

project = "polars_graded"
author = "the authors of polars_graded"
version = release = polars_graded.__version__
project_copyright = "the authors of polars_graded"

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_design",
]
exclude_patterns = ["**/.ipynb_checkpoints", "book/_*"]
templates_path = ["book/_templates"]
language = "en"
default_role = "py:obj"

# Code

nb_execution_mode = "force"
nb_execution_cache_path = str(SCRATCH / "cache")
nb_execution_excludepatterns = ["[0-9]-*.ipynb"]
nb_execution_in_temp = True
nb_execution_show_tb = True
nb_execution_timeout = 120
nb_output_stderr = "warn"
nb_merge_streams = True
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
# The notebooks link to each other and to the papers.
myst_links_external_new_tab = False
suppress_warnings = ["mystnb.unknown_mime_type"]

# Kernels are this Python, with no settings of who runs it, and show charts as the book has them.
startup = SCRATCH / "ipython/profile_default/startup"
startup.mkdir(parents=True)
shutil.copy(HERE / "book/_kernel/startup.py", startup)
quiet = 'c.IPKernelApp.log_level = "ERROR"\nc.HistoryManager.enabled = False\n'
(startup.parent / "ipython_kernel_config.py").write_text(f"c = get_config()\n{quiet}")
os.environ |= {
    "COLUMNS": "92",
    "IPYTHONDIR": str(SCRATCH / "ipython"),
    "JUPYTER_DATA_DIR": str(SCRATCH / "jupyter"),
    "JUPYTER_PREFER_ENV_PATH": "1",
    "NO_COLOR": "1",
    "NUMBA_DISABLE_JIT": "1",
    "PYTHONHASHSEED": "0",  # sets come in one order
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "PYTHON_COLORS": "0",
}
for name in [name for name in os.environ if name.startswith("POLARS_FMT")]:
    del os.environ[name]


def kernel_manager(client: NotebookClient) -> AsyncKernelManager:
    """Return a kernel manager that communicates over files in its own folder.

    A port that is free when it is looked for may be taken when the kernel begins.
    """
    sockets = Path(tempfile.mkdtemp(dir=SCRATCH), "socket")
    files = {"transport": "ipc", "ip": str(sockets)} if hasattr(socket, "AF_UNIX") else {}
    client.km = AsyncKernelManager(kernel_name=client.kernel_name or "python3", **files)
    return client.km


NotebookClient.create_kernel_manager = kernel_manager

# The reference

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autosummary_generate = ["book/reference.rst"]
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
maximum_signature_line_length = 88
python_use_unqualified_type_names = True
toc_object_entries = False

# How it looks

html_theme = "pydata_sphinx_theme"
html_title = "polars_graded"
# Where the book will stand: a card needs a whole address, nothing else does.
html_baseurl = os.environ.get("BOOK_ADDRESS", "")
html_theme_options = {
    "logo": {"text": f"polars_graded {version}"},
    "show_toc_level": 2,
    "navigation_with_keys": True,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_version_warning_banner": False,
    "secondary_sidebar_items": ["page-toc"],
}
html_context = {"default_mode": "auto"}
alone = ["start", "rows", "choosing", "gallery", "papers"]
html_sidebars = {"index": [], **{f"book/{name}": [] for name in alone}}
html_static_path = ["book/_static", str(SCRATCH / "static")]
html_favicon = "book/_static/favicon.svg"
html_css_files = ["book.css"]
html_js_files = ["book.js"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
mathjax_path = "mathjax.js"
mathjax3_config = {"options": {"enableMenu": False}}


def bundle() -> None:
    """Copy the scripts that draw charts and formulas to the static files."""
    static = SCRATCH / "static"
    static.mkdir()
    # A function keeps its names out of the global scope of other scripts.
    vega = f"(() => {{{load_drawing_scripts()}\n}})();"
    (static / "vega.js").write_text(vega, encoding="utf-8")
    mathjax = resources.files("sphinx-mathjax-offline") / "static/mathjax/tex-svg.js"
    (static / "mathjax.js").write_bytes(mathjax.read_bytes())
    shutil.copy(HERE / "card.png", static)


def with_charts(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:  # noqa: ARG001
    """Load the chart scripts in pages with charts, and the words of all pages in the search."""
    if 'class="chart"' in context.get("body", ""):
        app.add_js_file("vega.js", priority=100)
    if page == "search":
        app.add_js_file("texts.js", priority=100)


# For whoever reads files: each page as Markdown beside it, and `llms.txt`, which lists them

PITCH = "Ranking evaluation for Polars: fast, exact measures with significance tests and charts."
SOURCES = {
    path.relative_to(HERE).with_suffix("").as_posix(): path
    for path in sorted(
        [*HERE.glob("*.md"), *HERE.glob("[0-9]-*.ipynb"), *HERE.glob("book/**/*.md")]
    )
}


def with_card(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:  # noqa: ARG001
    """Add the link preview of a page, and the address of its Markdown file."""
    card = context["pathto"]("_static/card.png", resource=True)
    card = urljoin(html_baseurl, "_static/card.png") if html_baseurl else card
    title = re.sub(r"<[^>]+>", "", context.get("title", project)).replace('"', "&quot;")
    said = {"title": title, "description": PITCH, "image": card}
    tags = [f'<meta property="og:{name}" content="{text}">' for name, text in said.items()]
    tags += ['<meta name="twitter:card" content="summary_large_image">']
    if page in {*SOURCES, "book/reference"}:
        file = f"{page.rsplit('/', maxsplit=1)[-1]}.md"
        tags += [f'<link rel="alternate" type="text/markdown" href="{file}">']
    context["metatags"] = "\n".join([context.get("metatags", ""), *tags])


def as_markdown(path: Path) -> str:
    """Return the source of a page as plain Markdown, with code as Python."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        form = {"code": "```python\n{}\n```"}
        cells = [(form.get(cell["cell_type"], "{}"), cell) for cell in json.loads(text)["cells"]]
        text = "\n\n".join(form.format("".join(cell["source"])) for form, cell in cells)

    def fenced(found: re.Match[str]) -> str:
        kind, file, body = found.groups()
        if kind == "include":
            return (path.parent / file).read_text(encoding="utf-8")
        return f"```python\n{body.lstrip()}```\n" if kind == "code-cell" else ""

    for pattern, instead in (
        (r"\A---\n.*?\n---\n+", ""),
        (r"^:+\{grid-item-card\} (.*?)\n:link: (.*?)\n:link-type: doc\n", r"- [\1](\2.md): "),
        (r"^:(?! )[^\n]*\n", ""),
        (r"^% The outputs[^\n]*", f"[{path.stem}.html]({path.stem}.html) shows the outputs."),
        (r"^```\{([\w-]+)\} ?([^\n]*)\n(.*?)^```\n?", fenced),
        (r"\{py:\w+\}`(?:([^`<]+) <[^`]*>|~?(?:\w+\.)*(\w+))`", r"`\1\2`"),
        (r"\.ipynb(?=[)#])", ".md"),
    ):
        text = re.sub(pattern, instead, text, flags=re.MULTILINE | re.DOTALL)
    return text


def reference(names: list[str]) -> str:
    """Return the signature and the docstring of every public name."""
    parts = ["# Reference"]
    for name in names:
        item = operator.attrgetter(name.removeprefix("polars_graded."))(polars_graded)
        signature = inspect.signature(item) if inspect.isroutine(item) else ""
        parts += [f"## {name}", f"```python\n{name}{signature}\n```", inspect.getdoc(item) or ""]
    return "\n\n".join(parts)


def write_files(app: Sphinx, error: Exception | None) -> None:
    """Write the pages as Markdown, and their words for a search without a server."""
    if error is not None or app.builder.name != "html":
        return
    lines = ["# polars_graded", "", f"> {PITCH}", "", "## Pages", ""]
    pages = {name: path for name, path in SOURCES.items() if name in app.env.titles}
    for name, path in pages.items():
        (app.outdir / f"{name}.md").write_text(as_markdown(path), encoding="utf-8")
        lines += [f"- [{app.env.titles[name].astext()}]({name}.md)"]
    names = [name for name in app.env.domains["py"].objects if name.startswith("polars_graded.")]
    (app.outdir / "book/reference.md").write_text(reference(names), encoding="utf-8")
    lines += ["- [Reference](book/reference.md): every public name with its docstring"]
    (app.outdir / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    texts = {}
    for name in app.env.found_docs:
        page = (app.outdir / f"{name}.html").read_text(encoding="utf-8")
        body = page[page.index("<article") : page.rindex("</article>")]
        unread = r"<script.*?</script>|<style.*?</style>|<a class=\"headerlink.*?</a>|<[^>]+>"
        text = re.sub(unread, " ", body, flags=re.DOTALL)
        texts[f"{name}.html"] = " ".join(text.split())
    words = f"const TEXTS = {json.dumps(texts, ensure_ascii=False)};\n"
    (app.outdir / "_static/texts.js").write_text(words, encoding="utf-8")


def one_signature() -> None:
    """Replace the overloads of a function by its own signature, which names all keywords."""
    for name in dir(polars_graded):
        module = getattr(getattr(polars_graded, name), "__module__", None)
        if module is not None:
            analyzer = ModuleAnalyzer.for_module(module)
            analyzer.analyze()
            analyzer.overloads.clear()


def of_the_package(app: Sphinx, env: Any, node: Any, text: Any) -> Any:
    """Find what a module of the package names that is public in the package itself."""
    name = f"polars_graded.{node['reftarget']}"
    found = env.domains["py"].objects.get(name) if node.get("refdomain") == "py" else None
    if found is None:
        return None
    return make_refnode(app.builder, node["refdoc"], found.docname, found.node_id, text, name)


def setup(app: Sphinx) -> None:
    """Connect the extensions of this file to Sphinx."""
    bundle()
    one_signature()
    app.connect("html-page-context", with_charts)
    app.connect("html-page-context", with_card)
    app.connect("build-finished", write_files)
    app.connect("missing-reference", of_the_package)
