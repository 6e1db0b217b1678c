"""xacro files, packages as ROS finds them, and robots by name from the cache of robot_descriptions."""

from __future__ import annotations

import subprocess
import sys

import pytest

import appell
from appell.cli import main
from appell.loading import descriptions
from appell.meshes import candidate_paths, package_folders

pytest.importorskip("xacro")

INERTIAL = "<inertial><mass value='${mass}'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"
ARM = f"""<?xml version="1.0"?>
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="prefix" default=""/>
  <xacro:property name="mass" value="${{2 * 1.5}}"/>
  <xacro:macro name="rod" params="name parent">
    <link name="${{name}}">{INERTIAL}</link>
    <joint name="${{name}}_joint" type="revolute"><parent link="${{parent}}"/><child link="${{name}}"/>
      <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  </xacro:macro>
  <link name="base"/>
  <xacro:rod name="$(arg prefix)upper" parent="base"/>
</robot>
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "arm.xacro").write_text(ARM)
    return tmp_path / "arm.xacro"


def test_macros_and_arguments(file):
    assert appell.load(file).body("upper").mass == 3.0
    assert appell.load(file, xacro_args={"prefix": "left_"}).joint_names == ("left_upper_joint",)
    assert appell.load(ARM, xacro_args={}).body_names == ("base", "upper")
    assert "xacro:" not in appell.load(file).to_urdf()
    assert appell.check(file, xacro_args={"prefix": "left_"}).ok


def test_on_the_command_line(file, capsys):
    assert main(["info", str(file), "--xacro-arg", "prefix=left_"]) == 0
    assert "left_upper_joint" in capsys.readouterr().out
    assert main(["check", str(file), "--xacro-arg", "prefix=left_"]) == 0
    assert main(["info", str(file), "--xacro-arg", "prefix"]) == 2


def test_files_that_are_not_expanded_name_the_macros():
    report = appell.check(ARM)
    assert any("macros of xacro are not expanded" in problem.what for problem in report)
    empty = ARM.replace('<link name="base"/>', "")
    assert {"macros", "roots"} == {problem.kind for problem in appell.check(empty)}


BROKEN = {
    "unknown name": ("${2 * 1.5}", "${nothing}", "name 'nothing' is not defined"),
    "division": ("${2 * 1.5}", "${1 / 0}", "division by zero"),
    "no argument": ("$(arg prefix)", "$(arg suffix)", "Undefined substitution argument suffix"),
    "no file": ('<link name="base"/>', '<xacro:include filename="nothing.xacro"/>', "No such file"),
    "no package": (
        '<link name="base"/>',
        '<xacro:include filename="$(find nothing)/a"/>',
        "package 'nothing' was not found",
    ),
    "no macro": ("<xacro:rod", "<xacro:stick", "unknown macro name"),
    "recursion": ('<link name="${name}">', '<xacro:rod name="a" parent="b"/><link name="${name}">', "recursion"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_errors_of_xacro_are_model_errors(name, tmp_path):
    old, new, words = BROKEN[name]
    assert old in ARM
    (tmp_path / "arm.xacro").write_text(ARM.replace(old, new, 1))
    with pytest.raises(appell.ModelError, match=rf"arm\.xacro.*xacro cannot expand it: .*{words}"):
        appell.load(tmp_path / "arm.xacro")
    assert appell.load(ARM, xacro_args={}).nv == 1  # its state does not remain


def test_wrong_arguments():
    with pytest.raises(appell.ArgumentError, match="xacro_args is 'prefix=a', expected names with values"):
        appell.load(ARM, xacro_args="prefix=a")


def test_packages_are_found(tmp_path, monkeypatch):
    """Above the file, by the name in package.xml, and in ROS_PACKAGE_PATH, as for meshes."""
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "cache"))
    package = tmp_path / "checkout_of_arm"
    (package / "urdf").mkdir(parents=True)
    (package / "package.xml").write_text("<package><name>arm_description</name></package>")
    (package / "urdf" / "rod.xacro").write_text(ARM.replace('<xacro:rod name="$(arg prefix)upper" parent="base"/>', ""))
    use = "<robot name='a' xmlns:xacro='http://www.ros.org/wiki/xacro'>"
    use += "<xacro:include filename='$(find arm_description)/urdf/rod.xacro'/>"
    use += "<xacro:rod name='upper' parent='base'/></robot>"
    (package / "urdf" / "arm.xacro").write_text(use)
    assert appell.load(package / "urdf" / "arm.xacro").body_names == ("base", "upper")
    assert package / "a.stl" in candidate_paths("package://arm_description/a.stl", package / "urdf")
    other = tmp_path / "elsewhere"
    (other / "share" / "hand_description").mkdir(parents=True)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(other))
    assert other / "share" / "hand_description" in package_folders("hand_description", None)
    (tmp_path / "cache" / "repository" / "robots" / "leg_description").mkdir(parents=True)
    assert tmp_path / "cache" / "repository" / "robots" / "leg_description" in package_folders("leg_description", None)


# --- names --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path, monkeypatch):
    pytest.importorskip("robot_descriptions")
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "cache"))
    for name in [
        name for name in sys.modules if name.startswith("robot_descriptions.") and name.endswith("_description")
    ]:
        monkeypatch.delitem(sys.modules, name)
    return tmp_path / "cache"


def test_robots_by_name_come_from_the_cache(cache, monkeypatch):
    folder = cache / "example-robot-data" / "robots" / "panda_description" / "urdf"
    folder.mkdir(parents=True)
    (folder / "panda.urdf").write_text(appell.load("planar2r").to_urdf())
    assert appell.load("panda").joint_names == ("joint1", "joint2")
    assert appell.load("panda_description").folder == str(folder)
    assert "panda" in descriptions.names()


def test_a_description_with_macros_has_arguments(cache):
    folder = cache / "ur_description" / "urdf"
    folder.mkdir(parents=True)
    (folder / "ur.urdf.xacro").write_text(ARM.replace("prefix", "ur_type"))
    assert appell.load("ur5e").joint_names == ("ur5eupper_joint",)
    assert appell.load("ur5e", xacro_args={"ur_type": "my_"}).joint_names == ("my_upper_joint",)


def test_what_is_not_in_the_cache_is_not_fetched(cache, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a process was started"))
    with pytest.raises(
        appell.ModelError, match=r"'panda' is 'panda_description' of robot_descriptions, .* not in its cache"
    ):
        appell.load("panda")
    assert not cache.exists()


def test_unknown_names_list_similar_ones(cache):
    with pytest.raises(appell.ModelError, match=r"there is no file 'pandaa' and .* similar ones are: .*panda"):
        appell.load("pandaa")


def test_files_and_built_in_robots_come_first(cache, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "panda").write_text(appell.load("puma560").to_urdf())
    assert appell.load("panda").nv == 6
    assert appell.load("puma560").document is None
