"""A headless Chromium, driven over its DevTools socket: what the tests of the viewer need and no more."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-quic",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-default-apps", "--mute-audio", "--remote-debugging-port=0",
)  # fmt: skip


def find_chromium() -> str | None:
    """The browser's program, None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page in a browser of its own, with an empty profile.

    Attributes:
        requests: addresses that the page has asked for.
        errors: what its scripts have complained about.
    """

    def __init__(self, width: int = 1280, height: int = 800) -> None:
        from websockets.sync.client import connect

        self.requests: list[str] = []
        self.errors: list[str] = []
        self._profile = tempfile.mkdtemp(prefix="appell-chromium-")
        command = [find_chromium() or "chromium", *FLAGS, f"--user-data-dir={self._profile}"]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen([*command, "about:blank"], stdout=quiet, stderr=quiet, start_new_session=True)
        self._count = 0
        self._socket = connect(self._page_address(), max_size=None, compression=None)
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events that come meanwhile are noted."""
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=120))
            if message.get("id") == self._count:
                assert "error" not in message, message["error"]
                return message["result"]
            self._note(message)

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def wait_for(self, expression: str, seconds: float = 120.0) -> Any:
        """Wait until an expression is true; its value."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.evaluate(expression)
            if value:
                return value
            time.sleep(0.1)
        raise AssertionError(f"not true within {seconds:g} s: {expression}; errors: {self.errors}")

    @property
    def text(self) -> str:
        """All text that the page shows."""
        return self.evaluate("document.body ? document.body.innerText : ''")

    def press(self, key: str, code: int, times: int = 1) -> None:
        """Press a key on the element that has the focus."""
        named = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        for _ in range(times):
            self.call("Input.dispatchKeyEvent", type="keyDown", **named)
            self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    def click(self, expression: str) -> None:
        """Click in the middle of the element that a JavaScript expression gives."""
        self.evaluate(f"({expression}).scrollIntoView({{block: 'center'}})")
        box = self.evaluate(f"(r => [r.x + r.width / 2, r.y + r.height / 2])(({expression}).getBoundingClientRect())")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def screenshot(self, path: Path | None = None) -> bytes:
        """The page as PNG, also written to a file."""
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        if path is not None:
            path.write_bytes(data)
        return data

    def _note(self, message: dict[str, Any]) -> None:
        parameters = message.get("params", {})
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        if message.get("method") == "Network.webSocketCreated":
            self.requests.append(parameters["url"])
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(parameters["exceptionDetails"].get("text")))

    def _page_address(self) -> str:
        """The socket of the first page, once the browser has written down its port."""
        file = Path(self._profile, "DevToolsActivePort")
        end = time.monotonic() + 60.0
        while time.monotonic() < end:
            if file.exists() and (lines := file.read_text().splitlines()):
                with urlopen(f"http://127.0.0.1:{lines[0]}/json/list") as answer:
                    pages = [page for page in json.load(answer) if page["type"] == "page"]
                if pages:
                    return pages[0]["webSocketDebuggerUrl"]
            time.sleep(0.1)
        raise AssertionError("Chromium did not open its DevTools port within 60 s")
