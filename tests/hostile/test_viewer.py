"""The viewer: only its own page reaches the scene, and names of a description are text, not code."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import urlsplit

import numpy as np
import pytest
from helpers.browser import Browser, find_chromium

import appell

pytest.importorskip("viser", reason="viser is not installed: pip install 'appell[view]'")
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect


@pytest.fixture(scope="module")
def page() -> Iterator:
    page = appell.show(appell.load("planar2r"), port=8450)
    yield page
    page.close()


def answer(page, path: str, **headers: str) -> tuple[int, bytes]:
    """Status and content of a request with these headers."""
    address = urlsplit(page.url)
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=30)
    connection.putrequest("GET", path, skip_host=True)
    for name, value in {"Host": address.netloc, **headers}.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    response = connection.getresponse()
    return response.status, response.read()


def scene(page, path: str, origin: str | None, **headers: str) -> bytes:
    """The first message that a websocket receives."""
    port = urlsplit(page.url).port
    with connect(
        f"ws://127.0.0.1:{port}{path}",
        origin=origin,
        additional_headers=headers,
        subprotocols=[protocol()],
        open_timeout=30,
    ) as socket:
        return socket.recv(timeout=30)


def protocol() -> str:
    import viser

    return f"viser-v{viser.__version__}"


def test_the_own_page_is_served(page):
    path, netloc = urlsplit(page.url).path, urlsplit(page.url).netloc
    status, content = answer(page, path)
    assert status == 200
    assert b"<html" in content.lower()
    for host in (netloc, netloc.replace("127.0.0.1", "localhost")):
        assert answer(page, path, Host=host)[0] == 200
        assert answer(page, path, Host=host, Origin=f"http://{host}")[0] == 200
    assert scene(page, path.rstrip("/"), f"http://{netloc}")
    assert page.url in repr(page)


HOSTILE = {
    "no token": {"path": "/"},
    "wrong token": {"path": "/AAAAAAAAAAAAAAAAAAAAAA/"},
    "token elsewhere": {"path": "/x{token}"},
    "token in the query": {"path": "/?{token}"},
    "foreign host": {"headers": {"Host": "evil.example:{port}"}},
    "foreign port": {"headers": {"Host": "127.0.0.1:1"}},
    "host without port": {"headers": {"Host": "127.0.0.1"}},
    "foreign origin": {"headers": {"Origin": "https://evil.example"}},
    "origin of a file": {"headers": {"Origin": "null"}},
    "origin of another port": {"headers": {"Origin": "http://127.0.0.1:1"}},
    "origin with https": {"headers": {"Origin": "https://127.0.0.1:{port}"}},
    "rebound name": {"headers": {"Host": "evil.example:{port}", "Origin": "http://evil.example:{port}"}},
}


def filled(page, case: dict) -> tuple[str, dict[str, str]]:
    address = urlsplit(page.url)
    token = address.path
    path = case.get("path", token).format(token=token)
    return path, {name: value.format(port=address.port) for name, value in case.get("headers", {}).items()}


@pytest.mark.parametrize("name", HOSTILE)
def test_other_requests_get_nothing(page, name):
    path, headers = filled(page, HOSTILE[name])
    status, content = answer(page, path, **headers)
    assert status == 403
    assert b"planar2r" not in content
    assert b"<html" not in content.lower()


@pytest.mark.parametrize("name", HOSTILE)
def test_other_websockets_are_rejected(page, name):
    """Nothing of the scene is sent, and no slider can be set."""
    path, headers = filled(page, HOSTILE[name])
    address = urlsplit(page.url)
    upgrade = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec_WebSocket_Version": "13",
        "Sec_WebSocket_Key": "A" * 22 + "==",
    }
    status, content = answer(page, path, **{"Origin": f"http://{address.netloc}", **headers, **upgrade})
    assert status == 403
    assert b"planar2r" not in content


def test_a_websocket_without_origin_is_rejected(page):
    with pytest.raises(InvalidStatus, match="403"):
        scene(page, urlsplit(page.url).path.rstrip("/"), None)


def test_repeated_headers_are_rejected(page):
    """A second Origin or Host cannot stand behind a good one."""
    address = urlsplit(page.url)
    own = f"http://{address.netloc}"
    with pytest.raises(InvalidStatus, match="403"):
        scene(page, address.path.rstrip("/"), own, Origin="https://evil.example")
    with pytest.raises(InvalidStatus, match=r"40[03]"):
        scene(page, address.path.rstrip("/"), own, Host="evil.example")


def test_tokens_differ_and_other_servers_are_left_alone(page):
    import websockets.asyncio.server as server

    assert server.serve.__module__.startswith("websockets.")
    other = appell.show(appell.load("planar2r"), port=8450)
    try:
        assert urlsplit(other.url).path != urlsplit(page.url).path
        assert answer(other, urlsplit(page.url).path)[0] == 403
    finally:
        other.close()


def test_a_version_of_viser_that_cannot_be_guarded_is_not_used(monkeypatch):
    import viser

    class Unguarded:
        stopped = False

        def __init__(self, **_):
            pass

        def stop(self):
            Unguarded.stopped = True

    monkeypatch.setattr(viser, "ViserServer", Unguarded)
    with pytest.raises(appell.AppellError, match="cannot be checked"):
        appell.show(appell.load("planar2r"), port=8460)
    assert Unguarded.stopped


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7"])
def test_a_host_with_many_names_needs_token_and_origin(host):
    """Its names are not known; the page of a foreign name has a foreign origin, and no token."""
    from websockets.datastructures import Headers

    from appell.view.guard import allowed_path

    def path(path: str, **headers: str) -> str | None:
        return allowed_path(path, Headers(**headers), "secret", host, 8080)

    assert path("/secret/a?b", Host="robot.lan:8080") == "/a?b"
    assert path("/secret", Host="robot.lan:8080", Origin="http://robot.lan:8080", Upgrade="websocket") == "/"
    assert path("/secret", Host="robot.lan:8080", Origin="http://evil.example", Upgrade="websocket") is None
    assert path("/secret", Host="robot.lan:8080", Upgrade="websocket") is None
    assert path("/secret") is None
    assert path("/other", Host="robot.lan:8080") is None
    assert path("secret", Host="robot.lan:8080") is None


IMAGE = "<img src=x onerror=window.pwned=1>"
MARKDOWN = "![x](http://127.0.0.1:9/leak.png) [y](javascript:window.pwned=1) <script>window.pwned=1</script>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if find_chromium() is None:
        pytest.skip("no Chromium is installed")
    with Browser(900, 360) as browser:
        yield browser


def test_names_are_text_in_the_browser(browser, tmp_path):
    """Names of robot, bodies, joints and mesh files that would be code in HTML or Markdown."""
    from html import escape

    image, markdown = escape(IMAGE), escape(MARKDOWN)
    link = f'''<link name="{{}}"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
        <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
        <visual><geometry><mesh filename="{markdown}{image}.stl"/></geometry></visual></link>'''
    path = tmp_path / "hostile.urdf"
    path.write_text(
        f'''<robot name="{image} {markdown}"><link name="base"/>{link.format(image + " " + markdown)}
        <joint name="{image} {markdown} j" type="continuous"><parent link="base"/><child link="{image} {markdown}"/>
        <axis xyz="0 1 0"/></joint></robot>'''
    )
    robot = appell.load(path)
    motion = appell.simulate(robot, np.zeros(1), np.ones(1), 0.1)
    page = appell.show(robot, motion, port=8470, folder=tmp_path)
    try:
        assert any(IMAGE in note for note in page.subject.notes)
        browser.open(page.url)
        browser.wait_for("!!document.querySelector('canvas') && document.body.innerText.includes('Joints')")
        browser.evaluate(
            "[...document.querySelectorAll('*')].filter(e => e.innerText == 'Layers').forEach(e => e.click())"
        )
        browser.wait_for("document.body.innerText.includes('leak.png')")
        time.sleep(1.0)
        assert browser.evaluate("String(window.pwned)") == "undefined"
        assert (
            browser.evaluate("document.querySelectorAll('img[src=x], img[src*=leak], a[href^=javascript]').length") == 0
        )
        assert not [address for address in browser.requests if "leak" in address.rpartition("/")[2]]
    finally:
        page.close()


def test_a_foreign_page_in_the_browser_does_not_reach_the_scene(browser, page):
    """A page of another origin that has learnt the whole address opens a websocket and fetches the page."""
    script = f"""<html><body><script>
        window.seen = []
        const socket = new WebSocket({page.url.replace("http", "ws").rstrip("/")!r}, [{protocol()!r}])
        socket.onmessage = () => window.seen.push('message')
        socket.onopen = () => window.seen.push('open')
        socket.onclose = () => {{ window.closed_ = true }}
        fetch({page.url!r}).then(r => r.text()).then(t => window.seen.push('text')).catch(() => {{ window.refused = true }})
        </script></body></html>"""

    class Foreign(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(script.encode())

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Foreign)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        browser.open(f"http://127.0.0.1:{server.server_port}/")
        browser.wait_for("window.closed_ && window.refused")
        assert browser.evaluate("JSON.stringify(window.seen)") == "[]"
    finally:
        server.shutdown()
        server.server_close()
