"""Reading a page in the browser: errors on its console, requests to the network, its colours,
and a pointer that draws in it."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from selenium.webdriver.remote.webdriver import WebDriver

FLAGS = [
    "--headless=new",
    "--window-size=1400,1000",
    "--no-first-run",
    "--no-sandbox",  # root has none
    "--disable-dev-shm-usage",  # containers give little of it
    "--disable-gpu",
    # Whatever network there is, a page reaches this machine alone.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
    # And nothing but the pages themselves asks for anything.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-quic",
    "--disable-sync",
]

LOGS = {"browser": "ALL", "performance": "ALL"}


def console_errors(driver: WebDriver) -> list[str]:
    """What the console calls an error, failed requests too, since it was last asked."""
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]


def complaints(driver: WebDriver) -> list[str]:
    """What the console calls an error or a warning, since it was last asked."""
    entries = driver.get_log("browser")
    return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]


def requests_of(driver: WebDriver) -> list[str]:
    """What was asked for over a network since it was last asked, whether or not it answered.

    `file:`, `data:` and `blob:` are no network. What a worker asks for is not in the log.
    """
    addresses = []
    for entry in driver.get_log("performance"):
        event = json.loads(entry["message"])["message"]
        if event["method"] == "Network.requestWillBeSent":
            addresses.append(event["params"]["request"]["url"])
        elif event["method"] == "Network.webSocketCreated":
            addresses.append(event["params"]["url"])
    return [url for url in addresses if url.startswith(("http:", "https:", "ws:", "wss:"))]


def waited(page: WebDriver, condition: Callable[[], Any]) -> Any:
    """What a condition gives once it holds, which on a busy machine may take a while."""
    from selenium.webdriver.support.wait import WebDriverWait

    return WebDriverWait(page, 20).until(lambda _: condition())


def colours(png: bytes, at_least: int = 20) -> set[tuple[int, ...]]:
    """The colours of a screenshot, without grey, that so many pixels have."""
    from PIL import Image

    image = Image.open(io.BytesIO(png)).convert("RGB")
    return {
        colour
        for count, colour in image.getcolors(maxcolors=image.width * image.height)
        if count >= at_least and max(colour) - min(colour) > 30
    }


def drag(driver: WebDriver, plot: str, *places: tuple[float, float]) -> None:
    """Hold the pointer down from one place of a plot to the next, in shares of its size."""
    from selenium.webdriver.common.actions.action_builder import ActionBuilder

    x, y, width, height = driver.execute_script(
        "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
        "return [box.x, box.y, box.width, box.height];",
        f"{plot} path.background",
    )
    actions = ActionBuilder(driver, duration=50)
    for number, (right, down) in enumerate(places):
        at = round(x + right * width), round(y + down * height)
        actions.pointer_action.move_to_location(*at)
        if not number:
            actions.pointer_action.pointer_down()
    actions.pointer_action.pointer_up()
    actions.perform()
