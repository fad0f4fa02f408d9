"""Run the notebooks anew and save what they show: `python -m tests.execute_notebooks [names]`.

A name is how a file in `notebooks` begins: `1`, `4-your`. Without names all are run. What is saved
says nothing about who ran it, where or when, so that running a notebook again changes its file only
where it shows something else.
"""

from __future__ import annotations

import asyncio
import base64
import io
import os
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jupyter_client.manager import AsyncKernelManager
    from nbformat import NotebookNode

FOLDER = Path(__file__).parent.parent / "notebooks"

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}

DATA = "ohsumed"
"""The tag of cells that show something else without the folder of real data."""

SECONDS_A_CELL = 120
"""How long a cell may take before its notebook has failed."""


STARTUP = """import altair as alt

with alt.renderers.enable("png"):
    draw_png = alt.renderers.get()


def draw_described(spec, **options):
    data, metadata = draw_png(spec, **options)
    words = []
    # A chart of several has a title, or each of them has one.
    for chart in [spec, *spec.get("hconcat", []), *spec.get("vconcat", [])]:
        title = chart.get("title", {})
        title = title if isinstance(title, dict) else {"text": title}
        for part in (title.get("text", []), title.get("subtitle", [])):
            words.append(part if isinstance(part, str) else " ".join(part))
    text = ". ".join(filter(None, words)) or spec.get("description", "")
    return data, {"image/png": metadata["image/png"] | {"alt": text}}


alt.renderers.register("png", draw_described)
"""
"""Code with which the kernel adds a description to pictures: the title and the notes of a chart."""


def execute(notebook: NotebookNode) -> NotebookNode:
    """Return a copy of a notebook as a fresh kernel leaves it; an error of a cell is raised."""
    from nbclient import NotebookClient

    with tempfile.TemporaryDirectory() as folder:
        # Notebooks find an empty folder to run in, and none of their user's settings.
        work = Path(folder, "work")
        work.mkdir()
        client = NotebookClient(
            _cleaned(notebook),
            km=_kernel_manager(Path(folder, "kernel.json")),
            timeout=SECONDS_A_CELL,
            record_timing=False,
            coalesce_streams=True,
            extra_arguments=["--log-level=ERROR"],
        )
        startup = Path(folder, "ipython/profile_default/startup")
        startup.mkdir(parents=True)
        (startup / "pictures.py").write_text(STARTUP)
        others = {k: v for k, v in os.environ.items() if not k.startswith("POLARS_FMT")}
        environment = others | {"IPYTHONDIR": str(Path(folder, "ipython"))}
        # A kernel that the client did not make itself, it leaves running unless told otherwise.
        running = client.async_execute(cwd=str(work), env=environment, cleanup_kc=True)
        return _cleaned(asyncio.run(running))


def needs_data(cell: NotebookNode) -> bool:
    """Whether what a cell shows needs the folder that `POLARS_GRADED_DATA` names."""
    return DATA in cell.metadata.get("tags", [])


def _kernel_manager(connection_file: Path) -> AsyncKernelManager:
    """What starts the Python that runs this, whichever kernels are registered and as what."""
    from ipykernel.kernelspec import get_kernel_dict
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    class ThisPython(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:  # noqa: ARG002
            return KernelSpec(**get_kernel_dict())

    return AsyncKernelManager(
        kernel_name=METADATA["kernelspec"]["name"],
        kernel_spec_manager=ThisPython(),
        connection_file=str(connection_file),
        # Ports that are free when they are looked for may be taken when the kernel begins; files of
        # a folder of its own are not.
        **({"transport": "ipc", "ip": str(connection_file)} if hasattr(socket, "AF_UNIX") else {}),
    )


def _cleaned(notebook: NotebookNode) -> NotebookNode:
    """Return the notebook with its kernel, the tags of cells and the descriptions of pictures."""
    from nbformat import from_dict

    cells = [
        cell
        | {"metadata": {n: cell.metadata[n] for n in ("tags",) if n in cell.metadata} | _alt(cell)}
        for cell in notebook.cells
    ]
    return from_dict(notebook | {"cells": cells, "metadata": METADATA})


def _alt(cell: NotebookNode) -> dict[str, Any]:
    """Return the metadata by which the book describes the pictures of a cell."""
    shown = [output.get("metadata", {}).get("image/png", {}) for output in cell.get("outputs", [])]
    alt = ". ".join(picture["alt"] for picture in shown if picture.get("alt"))
    return {"mystnb": {"image": {"alt": alt}}} if alt else {}


def _smaller(png: str) -> str:
    """Return the same picture in a third of the bytes: vl-convert hardly compresses."""
    from PIL import Image

    data = io.BytesIO()
    Image.open(io.BytesIO(base64.b64decode(png))).save(data, "PNG", optimize=True)
    return base64.b64encode(data.getvalue()).decode()


def main(names: list[str]) -> None:
    """Run and save the notebooks whose names begin so."""
    import nbformat

    paths = sorted(path for path in FOLDER.glob("*.ipynb") if path.name.startswith(tuple(names)))
    if not paths:
        sys.exit(f"no notebook in {FOLDER} begins with {' or '.join(names)}")
    for path in paths:
        start, notebook = time.perf_counter(), nbformat.read(path, as_version=4)
        if "POLARS_GRADED_DATA" not in os.environ and any(map(needs_data, notebook.cells)):
            print(f"{path.name}: left alone, POLARS_GRADED_DATA does not name a folder")
            continue
        executed = execute(notebook)
        for cell in executed.cells:
            for output in cell.get("outputs", []):
                if "image/png" in output.get("data", {}):
                    output.data["image/png"] = _smaller(output.data["image/png"])
        nbformat.write(executed, path)
        print(f"{path.name}: {time.perf_counter() - start:.1f} s, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:] or [""])
