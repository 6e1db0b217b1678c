"""`appell view ROBOT`: the robot on a page in the browser."""

from __future__ import annotations

import argparse
import time

from appell.cli.common import Command, load_robot, robot_folder
from appell.cli.surfaces import add_surfaces, surfaces_of
from appell.view import LOCAL, PORT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--motion", metavar="FILE.npz", help="motion to play, from `appell simulate --out`")
    add_surfaces(parser)
    parser.add_argument("--host", default=LOCAL, help="address to listen on (default: %(default)s, local access only)")
    parser.add_argument("--port", type=int, default=PORT, help="first port to try (default: %(default)s)")
    parser.add_argument("--picture", metavar="FILE", help="draw a picture instead; needs matplotlib, no browser")
    parser.add_argument("--seconds", type=float, help="stop after this time (default: at Ctrl-C)")


def run(arguments: argparse.Namespace) -> None:
    import appell

    robot = load_robot(arguments)
    motion = appell.Trajectory.load(arguments.motion) if arguments.motion else None
    surfaces, folder = surfaces_of(arguments) or None, robot_folder(arguments)
    if arguments.picture:
        appell.draw(robot, arguments.picture, motion=motion, surfaces=surfaces, folder=folder)
        print(f"written: {arguments.picture}")
        return
    page = appell.show(robot, motion, surfaces=surfaces, host=arguments.host, port=arguments.port, folder=folder)
    print(f"{robot.name}: {page.url} (Ctrl-C ends)", flush=True)
    for note in page.subject.notes:
        print(f"  {note}")
    try:
        wait(arguments.seconds)
    except KeyboardInterrupt:
        print()
    finally:
        page.close()


def wait(seconds: float | None) -> None:
    """Sleep for a time, or until interrupted."""
    end = None if seconds is None else time.monotonic() + seconds
    while end is None or time.monotonic() < end:
        time.sleep(0.2 if end is None else min(0.2, max(end - time.monotonic(), 0.0)))


COMMAND = Command("view", "show a robot and its motion in the browser", add_arguments, run, robot=True, json=False)
