"""Print a conda recipe for an sdist: `python .ci/conda.py dist/polars_graded-….tar.gz`."""

from __future__ import annotations

import hashlib
import re
import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
RECIPE = """\
schema_version: 1

context:
  version: "{version}"

package:
  name: polars-graded
  version: ${{{{ version }}}}

source:
  path: {file}
  sha256: {digest}

build:
  noarch: python
  number: 0
  script: ${{{{ PYTHON }}}} -m pip install . -vv --no-deps --no-build-isolation
  python:
    entry_points:
{entry_points}

requirements:
  host:
    - python {oldest}.*
    - pip
{build}
  run:
    - python {python}
{run}

tests:
  - python:
      imports: [polars_graded, polars_graded.charts]
      python_version: ["{oldest}.*", "*"]
  - script: [polars-graded --version]

about:
  summary: {description}
  license: {license}
  license_file: LICENSE
"""


def listed(requirements: list[str]) -> str:
    """Return requirements as lines of the recipe, with a space between name and bounds."""
    apart = (re.sub(r"(?<=[\w-])(?=[<>=])", " ", each, count=1) for each in requirements)
    return "\n".join(f"    - {each}" for each in apart)


def recipe(source: Path) -> str:
    """Return the recipe for a source distribution in the same folder."""
    project = PROJECT["project"]
    return RECIPE.format(
        version=source.name.removeprefix("polars_graded-").removesuffix(".tar.gz"),
        file=source.name,
        digest=hashlib.sha256(source.read_bytes()).hexdigest(),
        entry_points="\n".join(f"      - {k} = {v}" for k, v in project["scripts"].items()),
        build=listed(PROJECT["build-system"]["requires"]),
        python=project["requires-python"],
        oldest=project["requires-python"].removeprefix(">="),
        run=listed(project["dependencies"]),
        description=project["description"],
        license=project["license"],
    )


if __name__ == "__main__":
    print(recipe(Path(sys.argv[1])), end="")
