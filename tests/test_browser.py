"""What tests in a browser rely on: errors, requests and colours that are there are seen."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from browser import colours, complaints, console_errors, requests_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from selenium.webdriver.remote.webdriver import WebDriver

QUIET = '<title>quiet</title><script>console.log("no error"); fetch("data:,nothing")</script>'


@pytest.fixture
def opened(page: WebDriver, tmp_path: Path) -> Callable[[str], WebDriver]:
    def opened(body: str) -> WebDriver:
        file = tmp_path / "page.html"
        file.write_text(f"<!doctype html><meta charset=utf-8>{body}", encoding="utf-8")
        page.get(file.as_uri())
        return page

    return opened


def awaited(logged: Callable[[WebDriver], list[str]], page: WebDriver) -> list[str]:
    """What is logged, which on a busy machine may be after the page has loaded."""
    from selenium.webdriver.support.wait import WebDriverWait

    found: list[str] = WebDriverWait(page, 10).until(logged)
    return found


def test_a_page_from_a_file_is_quiet(opened: Callable[[str], WebDriver]) -> None:
    page = opened(QUIET)
    assert page.title == "quiet"
    assert requests_of(page) == []
    assert console_errors(page) == []


@pytest.mark.parametrize(
    "script",
    ['console.error("wrong")', 'throw new Error("wrong")', 'Promise.reject(new Error("wrong"))'],
)
def test_errors_are_seen_once(script: str, opened: Callable[[str], WebDriver]) -> None:
    page = opened(f"<script>{script}</script>")
    (error,) = awaited(console_errors, page)
    assert "wrong" in error
    assert console_errors(page) == []


def test_warnings_are_seen_too_once(opened: Callable[[str], WebDriver]) -> None:
    page = opened('<script>console.warn("odd"); console.log("even")</script>')
    (warning,) = awaited(complaints, page)
    assert "odd" in warning
    assert complaints(page) == []


# No name is looked up, whatever network there is: the page gets no answer, and is seen to ask.
@pytest.mark.parametrize(
    "body",
    [
        '<img src="{url}">',
        '<link rel="stylesheet" href="{url}">',
        '<script src="{url}"></script>',
        '<script>fetch("{url}").catch(() => null)</script>',
        '<script type="module">import "{url}"</script>',
        "<iframe srcdoc=\"<img src='{url}'>\"></iframe>",
    ],
)
def test_requests_are_seen(body: str, opened: Callable[[str], WebDriver]) -> None:
    url = "https://cdn.example.com/vega@6"
    page = opened(body.format(url=url))
    assert awaited(requests_of, page) == [url]
    (error,) = awaited(console_errors, page)
    assert "ERR_NAME_NOT_RESOLVED" in error


def test_a_web_socket_is_a_request(opened: Callable[[str], WebDriver]) -> None:
    page = opened('<script>new WebSocket("wss://example.com/")</script>')
    assert awaited(requests_of, page) == ["wss://example.com/"]


def test_colours_are_counted_without_grey_and_without_specks() -> None:
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    picture = image.new("RGB", (20, 20), "white")
    picture.paste((128, 128, 128), (0, 0, 10, 10))
    picture.paste((245, 133, 24), (10, 10, 20, 20))
    picture.paste((76, 120, 168), (0, 15, 2, 17))
    png = io.BytesIO()
    picture.save(png, "png")
    assert colours(png.getvalue()) == {(245, 133, 24)}
    assert colours(png.getvalue(), at_least=4) == {(245, 133, 24), (76, 120, 168)}
