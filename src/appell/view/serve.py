"""`appell.show(robot)`: the viewer as a page in the browser."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from appell.deprecation import renamed_arguments
from appell.errors import AppellError, ArgumentError
from appell.simulation.contact.surfaces import Surface
from appell.simulation.trajectory import Trajectory
from appell.view import LOCAL, PORT
from appell.view.page import Page
from appell.view.subjects import subject_of
from appell.view.timeline import Timeline


@renamed_arguments(walls="surfaces")
def show(
    robot: Any,
    motion: Trajectory | None = None,
    *,
    surfaces: Sequence[Surface] = (),
    host: str = LOCAL,
    port: int = PORT,
    folder: str | Path | None = None,
) -> Page:
    """Serve a page that shows a robot, until `close()` of the result is called or Python ends. Needs viser.

    The page has sliders for the joints and shows actuator forces, mass matrix, energy and centre of mass. A motion can be
    played, with its impacts marked.

    Args:
        robot: any robot, or an object like `appell.view.subject.Subject`.
        surfaces: contact surfaces, as for `appell.simulate`.
        host: address to listen on; only this computer can reach the default one.
        port: if it is in use, the next free one; `result.server.get_port()` returns it.
        folder: that of the robot description, for mesh files.

    Example:
        >>> import appell
        >>> page = appell.show(appell.load("planar2r"), port=8700)
        >>> page.server.get_host()  # open http://127.0.0.1:8700 in a browser
        '127.0.0.1'
        >>> page.close()
    """
    try:
        import viser
    except ImportError:
        raise AppellError("the viewer needs viser. Install it with: pip install 'appell[view]'") from None
    require_local_address(host, port)
    subject = subject_of(robot, None if folder is None else Path(folder))
    timeline = None if motion is None else Timeline(subject, motion)
    with redirect_stdout(StringIO()):  # viser prints a greeting
        server = viser.ViserServer(host=host, port=port, label=subject.name, verbose=False)
    return Page(server, subject, timeline, surfaces)


def require_local_address(host: str, port: int) -> None:
    """Raise ArgumentError unless this computer can listen on the address; a server would wait for it forever."""
    if not isinstance(port, int) or not 0 < port < 1 << 16:
        raise ArgumentError(f"port is {port!r}, expected a whole number from 1 to 65535.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(address)
    except OSError as error:
        raise ArgumentError(
            f"host is {host!r}, which is not an address of this computer ({error.strerror}). Use {LOCAL}, or 0.0.0.0 for all of "
            "its addresses."
        ) from None
