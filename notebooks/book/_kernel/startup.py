"""What a kernel of the book does first: charts become data for the page, warnings their words."""

import warnings

import altair as alt


def chart(spec: dict, **options: object) -> dict[str, str]:  # noqa: ARG001
    """Return the specification of a chart, which a script of the page draws."""
    import json

    # No text can end the script that it stands in.
    data = json.dumps(spec, separators=(",", ":")).replace("<", "\\u003c")
    script = f'<script type="application/json">{data}</script>'
    return {"text/html": f'<div class="chart">{script}</div>', "text/plain": "alt.Chart(...)"}


alt.renderers.register("book", chart)
alt.renderers.enable("book")
warnings.formatwarning = lambda message, category, *_: f"{category.__name__}: {message}\n"

del alt, chart, warnings
