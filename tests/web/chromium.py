"""Headless Chromium over a pipe: real clicks and keys, what went wrong in the page, what it fetched, what it looks like."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "build" / "screenshots"
ANSWER_S = 60
WAIT_S = 90
"""A busy machine takes its time; what is not there by then does not come."""

KEYS = {
    "Enter": 13, "Escape": 27, "Tab": 9, "ArrowUp": 38, "ArrowDown": 40, "ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35,
}  # fmt: skip
CTRL = 2


class Page:
    """One tab of one Chromium."""

    def __init__(self, profile: Path) -> None:
        chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        assert chromium, "Chromium is not installed: make setup-tests installs it"
        ours, theirs = os.pipe(), os.pipe()
        # The protocol is spoken over its descriptors 3 and 4: no port that another test could take. Not sh: dash knows 0 to 9.
        options = "--headless --no-sandbox --disable-gpu --remote-debugging-pipe --hide-scrollbars --no-first-run --mute-audio"
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$0" {options} --user-data-dir="$1" about:blank 3<&{ours[0]} 4>&{theirs[1]}', chromium, profile],
            pass_fds=(ours[0], theirs[1]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(ours[0])
        os.close(theirs[1])
        self._to, self._from = ours[1], theirs[0]
        self._rest = b""
        self._last = 0
        self._session: str | None = None
        self.problems: list[str] = []
        self.requests: list[str] = []
        """What was fetched, by address."""
        self.priorities: dict[str, str | None] = {}
        """The header that says how urgent it was, by address."""
        self.held: list[str] = []
        """Ids of requests that wait in the browser: see ``hold``."""
        self.downloads = profile / "downloads"
        self.downloads.mkdir(parents=True)
        target = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Page", "Network", "DOM"):
            self.call(f"{domain}.enable")
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads))
        self.resize(1280)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """A command of the protocol, and its answer."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": params}
        if self._session and not method.startswith("Browser."):
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            told = self._read()
            if told.get("id") == self._last:
                assert "error" not in told, (method, told["error"])
                return told["result"]
            self._note(told)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            assert select.select([self._from], [], [], ANSWER_S)[0], "Chromium does not answer"
            data = os.read(self._from, 1 << 20)
            assert data, "Chromium ended"
            self._rest += data
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def _note(self, told: dict[str, Any]) -> None:
        params = told.get("params", {})
        match told.get("method"):
            case "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                self.problems.append(details.get("exception", {}).get("description") or details["text"])
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                self.problems.append(" ".join(str(one.get("value", one.get("description"))) for one in params["args"]))
            case "Log.entryAdded":
                # With what it is about: "Failed to load resource" alone helps nobody.
                self.problems.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
                self.priorities[params["request"]["url"]] = params["request"]["headers"].get("Priority")
            case "Fetch.requestPaused":
                self.held.append(params["requestId"])
            case "Tracing.dataCollected":
                self._trace += params["value"]
            case "Tracing.tracingComplete":
                self._is_traced = True

    @contextmanager
    def traced(self) -> Iterator[list[dict[str, Any]]]:
        """What the browser's threads do while the block runs: its own trace, there when the block has ended."""
        self._trace: list[dict[str, Any]] = []
        self._is_traced = False
        self.call("Tracing.start", categories="-*,toplevel,devtools.timeline,v8", transferMode="ReportEvents")
        yield self._trace
        self.call("Tracing.end")
        while not self._is_traced:
            self._note(self._read())

    @contextmanager
    def hold(self, *patterns: str) -> Iterator[None]:
        """Hold requests for these addresses (``*`` stands for anything) back until the block ends: a server that is slow."""
        self.call("Fetch.enable", patterns=[{"urlPattern": pattern} for pattern in patterns])
        try:
            yield
        finally:
            self.release()
            self.call("Fetch.disable")

    def release(self, **answer: Any) -> None:
        """Let the requests that are held go to the server, or answer them: ``responseCode``, ``body``."""
        for held in self.held:
            # One that the page has given up is gone.
            with suppress(AssertionError):
                self.call("Fetch.fulfillRequest" if answer else "Fetch.continueRequest", requestId=held, **answer)
        self.held.clear()

    def open(self, url: str) -> None:
        """Loads an address; a change of the part after # alone stays in the page."""
        self.call("Page.navigate", url=url)

    def see(self, expression: str) -> Any:
        """The value of an expression in the page."""
        told = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, (expression, told["exceptionDetails"])
        return told["result"].get("value")

    def until(self, expression: str) -> Any:
        """Waits until an expression is true; its value."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            try:
                # An element has no value to send here; that it is there is what counts.
                found = self.see(f"((value) => value instanceof Node || value)({expression})")
            except AssertionError:
                found = None  # Not there yet.
            if found:
                return found
            time.sleep(0.03)
        shown = self.see("document.body.innerText.slice(0, 1500)")
        raise AssertionError(f"never: {expression}\nproblems: {self.problems}\nthe page:\n{shown}")

    def has(self, text: str, within: str = "body") -> None:
        """Waits for a text that a reader sees."""
        self.until(
            f"[...document.querySelectorAll({within!r})].some((one) => one.innerText.includes({json.dumps(text)}))"
        )

    def point(self, selector: str, text: str | None = None) -> tuple[float, float]:
        """The middle of the first visible element that matches, once it stands still; scrolled into view."""
        find = (
            f"[...document.querySelectorAll({json.dumps(selector)})].find((one) => one.getClientRects().length"
            + (f" && one.innerText.trim().includes({json.dumps(text)})" if text else "")
            + ")"
        )
        where = (
            f"(() => {{ const one = {find}; if (!one || one.disabled) return null;"
            " one.scrollIntoView({block: 'nearest', inline: 'nearest'});"
            " const box = one.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        before = None
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            now = self.until(where)
            if now == before:
                return now[0], now[1]
            before = now
            time.sleep(0.03)
        raise AssertionError(f"{selector} never stands still")

    def click(self, selector: str, text: str | None = None, *, count: int = 1) -> None:
        """A real click on an element."""
        self.click_at(*self.point(selector, text), count=count)

    def click_at(self, x: float, y: float, *, count: int = 1) -> None:
        """A real click on a place."""
        self.mouse("mouseMoved", x, y)
        for number in range(1, count + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.mouse(kind, x, y, clickCount=number)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Press, move, release."""
        self.mouse("mouseMoved", *start)
        self.mouse("mousePressed", *start, clickCount=1)
        for part in (0.3, 0.7, 1.0):
            self.mouse("mouseMoved", *(a + (b - a) * part for a, b in zip(start, end, strict=True)), buttons=1)
        self.mouse("mouseReleased", *end, clickCount=1)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """An event of the mouse."""
        button = "none" if kind == "mouseMoved" and not more.get("buttons") else "left"
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, **more)

    def type(self, text: str) -> None:
        """Types into what has the focus."""
        self.call("Input.insertText", text=text)

    def fill(self, selector: str, text: str) -> None:
        """Clicks a field and writes into it instead of what it has."""
        self.click(selector)
        self.see(f"document.querySelector({json.dumps(selector)}).select()")
        self.type(text)

    def press(self, key: str, modifiers: int = 0) -> None:
        """A key."""
        text = {} if len(key) > 1 or modifiers else {"text": key}
        if key == "Enter" and not modifiers:
            text = {"text": "\r"}
        # A key's number is the character's for letters and digits alone: 46 is Delete and not a full stop.
        code = KEYS.get(key) or (ord(key.upper()) if key.isalnum() else 0)
        given = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown", **given, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **given)

    def keys(self, text: str) -> None:
        """Key by key, at the speed of fast fingers: an editor reads what the browser wrote a moment later."""
        for char in text:
            self.press(char)
            time.sleep(0.02)

    def choose_files(self, selector: str, *files: Path) -> None:
        """Gives files to a file picker."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=node, files=[str(file) for file in files])

    def downloaded(self) -> Path:
        """The one file that was downloaded, once it is whole. The caller removes it."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            found = list(self.downloads.iterdir())
            if len(found) == 1 and found[0].suffix != ".crdownload":
                return found[0]
            time.sleep(0.05)
        raise AssertionError(f"not downloaded: {found}")

    def resize(self, width: int, height: int = 900) -> None:
        """The size of the window."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, value: str) -> None:
        """What the system says: dark or light."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    def screenshot(self, name: str, *, whole: bool = False) -> Path:
        """A picture in build/screenshots/, of the window or of the whole page."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path = SCREENSHOTS / f"{name}.png"
        path.write_bytes(base64.b64decode(data))
        return path

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        return self.see("document.documentElement.scrollWidth - innerWidth")

    def close(self) -> None:
        """Ends it."""
        self._process.terminate()
        self._process.wait(20)
        os.close(self._to)
        os.close(self._from)


@contextmanager
def chromium(profile: Path) -> Iterator[Page]:
    """A page that ends with the block."""
    page = Page(profile)
    try:
        yield page
    finally:
        page.close()
