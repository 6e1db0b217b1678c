"""The viewer in a real browser: the page loads, a slider moves robot and numbers, a motion plays.

With `APPELL_PICTURES=folder` the screenshots are kept there; that is how the pictures of the documentation are made.
"""

from __future__ import annotations

import io
import json
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from helpers.browser import Browser, find_chromium
from helpers.mesh_files import write_meshes

import appell

pytest.importorskip("viser", reason="viser is not installed: pip install 'appell[view]'")
pytestmark = pytest.mark.skipif(find_chromium() is None, reason="no Chromium is installed")

ARROW_RIGHT = ("ArrowRight", 39)
ARM = Path(__file__).resolve().parents[2] / "examples" / "robots" / "arm.urdf"
SLIDERS = "document.querySelectorAll('[role=slider]')"


PICTURES = os.environ.get("APPELL_PICTURES")
SIZE = (1400, 860) if PICTURES else (900, 360)
"""Of the window; without a graphics card, drawing a large one takes most of a test's time."""
PATIENCE = 120.0
"""A busy machine may take this long. [s]"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser(*SIZE) as browser:
        yield browser


def opened(browser: Browser, page) -> None:
    """Wait until a page has drawn its scene and connected."""
    browser.open(page.url)
    browser.wait_for("!!document.querySelector('canvas') && document.body.innerText.includes('Joints')")
    browser.wait_for(f"{SLIDERS}.length > 0")


def keep(browser: Browser, name: str) -> None:
    """Keep a picture for the documentation, once the scene has faded in."""
    if PICTURES:
        time.sleep(3.0)
        browser.evaluate("document.querySelectorAll('.mantine-Notification-closeButton').forEach(b => b.click())")
        time.sleep(4.0)
        browser.screenshot(Path(PICTURES, name))


def shows(browser: Browser, text: str) -> None:
    """Wait until the page shows a text."""
    browser.wait_for(f"document.body.innerText.includes({json.dumps(text)})")


def test_slider_moves_the_robot_and_the_numbers(browser: Browser) -> None:
    robot = appell.load(ARM)
    page = appell.show(robot, port=8411)
    try:
        opened(browser, page)
        if PICTURES:
            page.show_at_rest(np.array([0.4, 0.6, -1.0]))
            keep(browser, "view_robot.png")
        shows(browser, f"{robot.gravity(page.q)[1]:.4g}")
        start = page.q.copy()
        browser.evaluate(f"{SLIDERS}[1].focus()")
        browser.press(*ARROW_RIGHT, times=20)
        target = start[1] + 20 * page.subject.sliders[1].step
        browser.wait_for(f"Math.abs({SLIDERS}[1].getAttribute('aria-valuenow') - {target}) < 1e-6")
        deadline = time.monotonic() + PATIENCE
        while abs(page.q[1] - target) > 1e-9 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert page.q[1] == pytest.approx(target)
        moved = page.subject.poses(page.q)["fore"] - page.subject.poses(start)["fore"]
        assert np.linalg.norm(moved[:3, 3]) > 0.005
        shows(browser, f"{robot.potential_energy(page.q):.4g} J")
        shows(browser, f"{robot.gravity(page.q)[1]:.4g}")
        outside = [address for address in browser.requests if not address.startswith(("data:", "blob:"))]
        assert outside
        assert all("//127.0.0.1:" in address for address in outside), outside
        assert browser.errors == []
    finally:
        page.close()


def test_motion_plays_with_impacts_and_plots(browser: Browser) -> None:
    tree, wall = appell.load("shafei_tree"), appell.surfaces.Circle(radius=2.5)
    motion = appell.simulate(
        tree, *tree.initial_state, duration=0.7, surfaces=[wall], method=appell.Integration(max_step=0.02)
    )
    page = appell.show(tree, motion, surfaces=[wall], port=8421)
    try:
        opened(browser, page)
        shows(browser, "energy [J]")
        assert browser.evaluate("document.querySelectorAll('.uplot').length") == 2
        assert page.player.time == 0.0
        browser.click("[...document.querySelectorAll('button')].find(b => b.innerText == 'Play')")
        deadline = time.monotonic() + PATIENCE
        while page.player.time < motion.t[-1] - 1e-9 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert page.player.time == pytest.approx(motion.t[-1])
        browser.wait_for("[...document.querySelectorAll('button')].some(b => b.innerText == 'Play')")
        np.testing.assert_allclose(page.q, motion.q[-1], atol=1e-12)
        page.player.go_to(0.65)
        keep(browser, "view_motion.png")
        assert browser.errors == []
    finally:
        page.close()


@pytest.mark.parametrize(
    ("name", "base", "port"),
    [
        ("panda", "fixed", 8431),
        pytest.param("go2", "floating", 8432, marks=pytest.mark.slow),
        ("g1", "floating", 8433),
    ],
)
def test_robots_are_shown_with_their_meshes(browser: Browser, name: str, base: str, port: int, tmp_path: Path) -> None:
    """Collada and STL in a colour that nothing else on the page has; without meshes there is none of it."""
    image = pytest.importorskip("matplotlib.image")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.ModelWarning)
        robot = appell.load(write_meshes(name, tmp_path), base=base)
    page = appell.show(robot, port=port)
    try:
        opened(browser, page)
        assert page.subject.notes == ()
        deadline, share = time.monotonic() + PATIENCE, 0.0
        while share < 0.005 and time.monotonic() < deadline:
            time.sleep(0.5)
            pixels = image.imread(io.BytesIO(browser.screenshot()))
            r, g, b = (pixels[:, :, k] for k in range(3))
            share = float(((r > 0.4) & (b > 0.4) & (g < 0.5 * r)).mean())
        assert share >= 0.005
        keep(browser, f"view_{name}.png")
        assert browser.errors == []
    finally:
        page.close()


def test_plots_of_many_joints_have_a_legend(browser: Browser) -> None:
    robot = appell.robots.random_chain(12, seed=3)
    motion = appell.simulate(robot, np.zeros(12), np.zeros(12), 0.05, t_eval=0.01)
    page = appell.show(robot, motion, port=8441)
    try:
        opened(browser, page)
        shows(browser, "8 of 12")
        labels = "[...document.querySelectorAll('.uplot')[0].querySelectorAll('.u-legend .u-label')]"
        browser.wait_for(f"{labels}.length == 10")  # the time, eight joints, the line of the present time
        visible = browser.evaluate(f"{labels}.every(l => l.getBoundingClientRect().height > 5)")
        assert visible
        keep(browser, "view_legend.png")
    finally:
        page.close()
