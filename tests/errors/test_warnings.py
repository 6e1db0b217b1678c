"""Warnings name the line that called the library, however deep they arise."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import appell
from appell.errors import warn_at_caller

ARM = """<robot name="arm"><link name="base">{base}</link><link name="upper">
<collision><geometry><mesh filename="nowhere.stl"/></geometry></collision></link>
<joint name="turn" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="1 0 0"/></joint></robot>"""
MASS = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def load() -> None:
    appell.load(ARM.format(base=""))


def simulate() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = appell.load(ARM.format(base=MASS).replace('"upper">\n', f'"upper">{MASS}\n'), base="floating")
    q0 = robot.neutral_configuration()
    q0[2], qd0 = 1.0, [0.0] * robot.nv
    appell.simulate(robot, q0, qd0, 1e-2, surfaces=appell.surfaces.Plane(), method="auto")


@pytest.mark.parametrize("function", [load, simulate])
def test_warnings_name_the_calling_line(function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function()
    assert caught
    assert {Path(each.filename).name for each in caught} == {Path(__file__).name}


def test_code_of_the_package_is_no_caller():
    code = compile("warn('here', UserWarning)", "inside.py", "exec")
    with pytest.warns(UserWarning, match="here") as caught:
        exec(code, {"__name__": "appell.inside", "warn": warn_at_caller})
    assert caught[0].filename == __file__
