"""Who may open the viewer: only its own page, at an address with a random token.

Any web page can send requests to a server on the loopback interface. A browser adds the page's `Origin` to a websocket and the
name that it has looked up as `Host`: these have to be the server's own. The token keeps out other programs and users.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from http import HTTPStatus
from io import StringIO
from typing import Any

from appell.errors import AppellError

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
HEADERS = (
    ("Referrer-Policy", "no-referrer"), ("X-Content-Type-Options", "nosniff"), ("Cross-Origin-Resource-Policy", "same-origin"),
)  # fmt: skip
_lock = threading.Lock()


def guarded_server(host: str, port: int, label: str) -> tuple[Any, str]:
    """A viser server that only its own page can use, and the address of that page.

    viser has no option for it: while it starts, the function by which it opens its websocket server is replaced.
    """
    import viser
    import websockets.asyncio.server as websockets_server

    token, original, guarded = secrets.token_urlsafe(16), websockets_server.serve, threading.Event()

    def serve(handler: Any, *arguments: Any, process_request: Any = None, **options: Any) -> Any:
        if getattr(handler, "__module__", "").startswith("viser."):
            guarded.set()
            process_request = guard(token, host, process_request)
        return original(handler, *arguments, process_request=process_request, **options)

    with _lock, redirect_stdout(StringIO()):  # viser prints a greeting
        try:
            websockets_server.serve = serve
            server = viser.ViserServer(host=host, port=port, label=label, verbose=False)
        finally:
            websockets_server.serve = original
    if not guarded.is_set():
        server.stop()
        raise AppellError("requests to this version of viser cannot be checked. Install viser 1.1.")
    name = LOOPBACK[0] if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return server, f"http://{name}:{server.get_port()}/{token}/"


def guard(token: str, host: str, serve_files: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A check of requests before `serve_files`, which has the paths without token and returns None for a websocket."""
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    def process_request(connection: Any, request: Any) -> Any:
        rest = allowed_path(request.path, request.headers, token, host, connection.local_address[1])
        if rest is None:
            body = b"Open the address that `appell view` has printed: it has a token."
            headers = Headers([("Content-Length", str(len(body))), ("Content-Type", "text/plain")])
            return Response(HTTPStatus.FORBIDDEN, "FORBIDDEN", headers, body)
        response = serve_files(connection, replace(request, path=rest))
        for name, value in HEADERS if response else ():
            response.headers[name] = value
        return response

    return process_request


def allowed_path(path: str, headers: Any, token: str, host: str, port: int) -> str | None:
    """The path of a request without its token; None unless it has the token and comes from the viewer's own page.

    A host that is not of the loopback interface has many names, and only `Origin` and token are compared.
    """
    _, _, rest = path.partition("/")
    given, _, rest = rest.partition("/")
    hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
    names = [name if port == 80 else f"{name}:{port}" for name in LOOPBACK]
    known = len(hosts) == 1 and (hosts[0] in names or host not in (*LOOPBACK, "::1"))
    typed_in = not origins and not headers.get_all("Upgrade")
    own = known and (typed_in or origins == [f"http://{hosts[0]}"])
    return f"/{rest}" if own and secrets.compare_digest(given.encode(), token.encode()) else None
