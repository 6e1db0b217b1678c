"""Make the pictures of the documentation by running the examples, and, with `--browser`, the tests of the viewer.

python docs/make_pictures.py [--browser]
"""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
MADE = {
    "least_effort.py": ("least_effort.png",),
    "pictures_of_robots.py": ("delta.png", "stewart.png", "agile_wrist.png", "falling_arm.png"),
    "puma_behind_its_cards.py": ("stopped.png",),
    "stewart_platform.py": ("stewart_legs.png",),
    "stick_and_slip.py": ("stick_and_slip.png",),
    "through_via_points.py": ("through_via_points.png",),
    "torques_over_the_workspace.py": ("torques.png",),
    "tree_in_its_wall.py": ("tree_in_its_wall.png",),
    "wrist.py": ("wrist_workspace.png",),
}
"""Pictures that the documentation shows, by the example that writes them."""


def from_examples() -> None:
    for example, names in MADE.items():
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            sys.argv = [example]
            runpy.run_path(str(ROOT / "examples" / example), run_name="__main__")
            for name in names:
                shutil.copy(name, PICTURES / name)
            os.chdir(ROOT)


def from_the_demo() -> None:
    subprocess.run([sys.executable, "-m", "appell", "demo", "-o", str(PICTURES / "demo.png")], check=True)


def from_the_study_of_faults() -> None:
    from appell_lab import faults

    faults.draw(PICTURES / "faults.png")


def from_the_browser() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "tests/view/test_browser.py"]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "APPELL_PICTURES": str(PICTURES)})


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    browser = "--browser" in sys.argv
    from_examples()
    from_the_demo()
    from_the_study_of_faults()
    if browser:
        from_the_browser()
