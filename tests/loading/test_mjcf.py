"""MJCF through MuJoCo, against MuJoCo's own dynamics."""

from __future__ import annotations

import builtins
import math
import warnings

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell import Pose
from appell.closed_loop.robot import ClosedLoopRobot
from appell.model.body import Geometry
from appell.model.joint import Limits, Mimic

mujoco = pytest.importorskip("mujoco")

ARM = """<mujoco model="arm">
  <compiler angle="radian"/>
  <option gravity="0.5 1 -9.81"/>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="shoulder" pos="0.1 0 1" euler="0.1 0.2 0.3">
      <joint name="yaw" axis="0 1 1" pos="0.1 0 0.2" range="-1.5 2" ref="0.4" damping="0.1" armature="0.3"
             frictionloss="0.2"/>
      <joint name="slide" type="slide" axis="1 0 0.5" ref="0.3"/>
      <joint name="pitch" axis="1 0 0" pos="0.05 .1 .2"/>
      <geom type="sphere" size=".1" pos="0.1 0 0" rgba="1 0 0 1"/>
      <body name="fore" pos="0 0 .3" quat="0.9 0.1 0.3 0.2">
        <joint axis="0 0 1"/>
        <geom type="box" size=".1 .2 .3" euler="10 20 30" pos="0.1 0.2 0"/>
        <body name="tool" pos="1 2 3" euler="0.4 0 0"><geom type="capsule" size=".1 .4" euler="0.4 0 0.1"/></body>
      </body>
    </body>
    <body name="other" pos="2 0 0">
      <joint name="hinge" axis="0 1 0" actuatorfrcrange="-5 3"/>
      <inertial pos="0.1 0.2 0.3" mass="2" fullinertia="0.3 0.4 0.5 0.01 0.02 0.03"/>
    </body>
  </worldbody>
</mujoco>"""


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", appell.ModelWarning)
        yield


def silent(xml: str):
    """A MuJoCo model without losses and constraints, which are not part of inverse dynamics here."""
    model = mujoco.MjModel.from_xml_string(xml)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    model.dof_damping[:] = 0.0
    return model


def test_dynamics_agree_with_mujoco():
    """Anchors beside the origin, several joints in a body, references, welded bodies, armature."""
    robot, model = appell.load(ARM), silent(ARM)
    data = mujoco.MjData(model)
    assert robot.nv == model.nv == 5
    rng = np.random.default_rng(0)
    for _ in range(4):
        data.qpos[:], data.qvel[:], data.qacc[:] = rng.uniform(-2, 2, (3, model.nv))
        q, qd, qdd = data.qpos.copy(), data.qvel.copy(), data.qacc.copy()
        mujoco.mj_inverse(model, data)
        assert_close(robot.inverse_dynamics(q, qd, qdd), data.qfrc_inverse.copy(), tolerance=1e-12)
        unit = np.empty((model.nv, model.nv))
        mujoco.mj_solveM(model, data, unit, np.eye(model.nv))
        assert_close(robot.mass_matrix(q) @ unit, np.eye(model.nv), tolerance=1e-11)
        for i in range(model.nbody):
            pose = robot.pose(q, model.body(i).name)
            assert_close(pose[:3, 3], data.xpos[i].copy(), tolerance=1e-13, scale=1.0)
            assert_close(pose[:3, :3], data.xmat[i].reshape(3, 3).copy(), tolerance=1e-13, scale=1.0)


def test_what_is_read():
    robot = appell.load(ARM)
    assert robot.name == "arm"
    assert robot.bodies[0].name == "world"
    assert robot.gravity_vector == (0.5, 1.0, -9.81)
    assert robot.joint_names == ("yaw", "slide", "pitch", "joint3", "hinge")
    yaw = robot.joint("yaw")
    assert (yaw.kind, yaw.limits.lower, yaw.limits.upper) == ("revolute", -1.5, 2.0)
    assert (yaw.damping, yaw.friction, yaw.rotor_inertia, yaw.gear_ratio) == (0.1, 0.2, 0.3, 1.0)
    assert [robot.joint(name).kind for name in ("slide", "pitch")] == ["prismatic", "continuous"]
    assert robot.joint("hinge").limits.effort == 5.0
    assert robot.joint("hinge").limits.upper == math.inf
    assert robot.joint("slide").line == 9
    assert robot.body("other").mass == 2.0
    assert_close(np.array(robot.body("other").inertia), np.array([0.3, 0.01, 0.02, 0.4, 0.03, 0.5]), tolerance=1e-14)
    (sphere,) = robot.body("shoulder").visuals
    assert (sphere.kind, sphere.size, sphere.rgba) == ("sphere", (0.1,), (1.0, 0.0, 0.0, 1.0))
    (capsule,) = robot.body("tool").visuals
    assert (capsule.kind, capsule.size) == ("capsule", (0.1, 0.8))


def test_geoms_with_contact_are_collision_shapes(tmp_path):
    drawn = "<geom size='.2' contype='0' conaffinity='0'/>"
    touching = "<geom type='box' size='.1 .2 .3' pos='0 0 1'/><geom type='ellipsoid' size='.1 .1 .2'/>"
    xml = f"<mujoco><worldbody><body name='leg'><joint/>{drawn}{touching}</body></worldbody></mujoco>"
    path = tmp_path / "leg.xml"
    path.write_text(xml)
    robot = appell.load(path)
    assert [visual.kind for visual in robot.body("leg").visuals] == ["sphere", "box"]
    assert robot.body("leg").collisions == (Geometry("box", (0.2, 0.4, 0.6), Pose((0.0, 0.0, 1.0))),)
    assert robot.folder == str(tmp_path)


def test_a_file_with_an_include(tmp_path):
    (tmp_path / "legs.xml").write_text(
        "<mujoco><worldbody><body name='leg'><joint name='hip'/><geom size='.1'/></body></worldbody></mujoco>"
    )
    path = tmp_path / "robot.xml"
    path.write_text("<mujoco model='robot'><include file='legs.xml'/></mujoco>")
    assert appell.load(path).joint_names == ("hip",)
    assert appell.load(str(path)).source == "robot.xml"


def with_equality(equality: str, joint: str = "") -> str:
    return (
        f"<mujoco><compiler angle='radian'/><worldbody><body name='a'><joint name='lead' ref='0.2' {joint}/><geom size='.1' "
        "pos='1 0 0'/></body><body name='b'><joint name='follow' ref='0.5'/><geom size='.1' pos='1 0 0'/></body></worldbody>"
        f"<equality>{equality}</equality></mujoco>"
    )


def test_linear_coupling_becomes_mimic():
    """y - y0 = a0 + a1 (x - x0)."""
    robot = appell.load(with_equality("<joint joint1='follow' joint2='lead' polycoef='0.1 -2 0 0 0'/>"))
    mimic = robot.joint("follow").mimic
    assert mimic == Mimic("lead", -2.0, pytest.approx(0.5 + 0.1 + 2 * 0.2))
    assert robot.joint_names == ("lead",)


def test_an_inactive_equality_is_nothing():
    robot = appell.load(with_equality("<weld body1='a' body2='b' active='false'/>"))
    assert robot.joint_names == ("lead", "follow")


@pytest.mark.parametrize(
    ("equality", "kind"),
    [
        ("<joint name='w' joint1='follow' joint2='lead' polycoef='0 1 0.5 0 0'/>", "joint"),
        ("<joint name='w' joint1='follow' joint2='lead' polycoef='0 0 0 1 0'/>", "joint"),
    ],
)
def test_other_equalities_are_left_out_with_a_warning(equality, kind):
    with pytest.warns(appell.ModelWarning, match=f"equality 'w': the equality of type {kind} is not part of the model"):
        assert appell.load(with_equality(equality)).joint_names == ("lead", "follow")


def test_a_joint_that_an_equality_holds_is_fixed():
    """y - y0 = a0."""
    robot = appell.load(with_equality("<joint joint1='follow' polycoef='0.1 0 0 0 0'/>"))
    assert robot.joint_names == ("lead",)
    free = appell.load(with_equality(""))
    assert_close(robot.pose([0.3], "b"), free.pose([0.3, 0.6], "b"), tolerance=1e-14)


def chain(equality: str, rest: str = "") -> str:
    joints = "".join(
        f"<body name='b{k}'><joint name='j{k}' ref='{k}'/><geom size='.1' pos='1 0 0'/></body>" for k in range(4)
    )
    angles = "<compiler angle='radian'/>"
    return f"<mujoco>{angles}<worldbody>{joints}</worldbody><equality>{equality}</equality>{rest}</mujoco>"


@pytest.mark.parametrize(
    "couplings",
    [
        ("j1 j0 0.1 2", "j2 j1 0.2 -3"),
        ("j2 j1 0.2 -3", "j1 j0 0.1 2"),
        ("j1 j0 0.1 2", "j2 j1 0.2 -3", "j2 j3 0.3 0.5"),
        ("j1 j0 0.1 2", "j1 j2 0.4 1"),  # two equations of one joint
    ],
)
def test_chains_of_couplings_have_one_leader(couplings):
    """All equations hold, whichever joint became the leader."""
    texts = [text.split() for text in couplings]
    robot = appell.load(
        chain("".join(f"<joint joint1='{y}' joint2='{x}' polycoef='{a} {b} 0 0 0'/>" for y, x, a, b in texts))
    )
    assert robot.nv == 4 - len(couplings)
    q = np.random.default_rng(0).uniform(-1, 1, robot.nq)
    values = dict(
        zip([f"j{k}" for k in range(4)], robot.to_mujoco(q, 0 * q, [f"j{k}" for k in range(4)])[0], strict=True)
    )
    for y, x, a, b in texts:
        left = values[y] - float(y[1])
        assert left == pytest.approx(float(a) + float(b) * (values[x] - float(x[1])), abs=1e-13)


def test_contradicting_couplings_are_left_out_with_a_warning():
    both = "<joint joint1='j0' joint2='j1' polycoef='0 1 0 0 0'/><joint name='w' joint1='j0' joint2='j1' polycoef='1 1 0 0 0'/>"
    with pytest.warns(appell.ModelWarning, match="equality 'w': the equality of type joint is not part of the model"):
        assert appell.load(chain(both)).nv == 3


def test_a_fixed_tendon_couples_joints():
    tendon = "<tendon><fixed name='t'><joint joint='j0' coef='2'/><joint joint='j1' coef='-1'/></fixed></tendon>"
    robot = appell.load(chain("<tendon tendon1='t' polycoef='0.5 0 0 0 0'/>", tendon))
    assert robot.nv == 3
    q0, q1 = robot.to_mujoco([0.3, 0.1, 0.2], [0.0] * 3, [f"j{k}" for k in range(4)])[0][:2]
    assert 2 * q0 - q1 == pytest.approx(2 * 0 - 1 + 0.5)


ACTUATED = """<mujoco><worldbody><body name='a'><joint name='lead'/><geom size='.1' pos='1 0 0'/><site name='tip' pos='1 2 3'/>
  <body name='b' pos='1 0 0'><joint name='follow'/><joint name='slide' type='slide'/><geom size='.1' pos='1 0 0'/>
    <site name='b' euler='90 0 0'/></body></body></worldbody>
  <tendon><fixed name='both'><joint joint='lead' coef='0.5'/><joint joint='slide' coef='-2'/></fixed>
    <spatial name='rope' stiffness='1'><site site='tip'/><site site='b'/></spatial></tendon>
  <equality><joint joint1='follow' joint2='lead' polycoef='0 3 0 0 0'/></equality>
  <actuator><motor name='m' joint='follow' gear='5' ctrlrange='-2 1' ctrllimited='true'/>
    <position name='p' joint='slide' kp='7' kv='1' forcerange='-4 3' forcelimited='true'/>
    <velocity name='v' joint='lead' kv='2'/><general name='g' tendon='both' gainprm='3'/>
    <motor name='thrust' site='b' gear='0 0 1 0 0 0.2'/><motor name='pull' tendon='rope'/></actuator>
  <keyframe><key name='home' qpos='0.1 0.3 0.5'/><key qpos='0.2 0.6 1'/></keyframe></mujoco>"""


@pytest.fixture(scope="module")
def actuated():
    with pytest.warns(appell.ModelWarning, match="2 defects") as caught:
        robot = appell.load(ACTUATED)
    assert "actuator 'pull': acts on a body, a spatial tendon" in str(caught[0].message)
    assert "tendon 'rope': has forces of its own" in str(caught[0].message)
    return robot


def test_actuators_are_kept(actuated):
    m, p, v, g, thrust = actuated.actuators
    assert (m.name, m.joint, m.gear, m.kind, m.control_range) == ("m", "follow", 5.0, "motor", (-2.0, 1.0))
    assert (p.joint, p.kind, p.force_range, p.gain, p.bias) == (
        "slide",
        "position",
        (-4.0, 3.0),
        7.0,
        (0.0, -7.0, -1.0),
    )
    assert (v.kind, v.gain, v.bias) == ("velocity", 2.0, (0.0, 0.0, -2.0))
    assert (g.joints, g.gears, g.kind) == (("lead", "slide"), (0.5, -2.0), "motor")
    assert (thrust.frame, thrust.wrench, thrust.joint) == ("b_site", (0.0, 0.0, 1.0, 0.0, 0.0, 0.2), "")
    assert appell.Robot.from_dict(actuated.to_dict()) == actuated


def test_actuators_move_the_robot_as_in_mujoco(actuated):
    """Forces on the joints from controls, for every kind; couplings are projected here."""
    model = mujoco.MjModel.from_xml_string(ACTUATED)
    data, names = mujoco.MjData(model), ["lead", "follow", "slide"]
    rng = np.random.default_rng(0)
    for _ in range(3):
        q, qd, u = *rng.uniform(-0.1, 0.1, (2, 2)), rng.uniform(-1.5, 1.5, 5)
        data.qpos[:], data.qvel[:] = actuated.to_mujoco(q, qd, names)
        data.ctrl[:5] = u
        mujoco.mj_forward(model, data)
        lengths = [5 * data.qpos[1], data.qpos[2], data.qpos[0], 0.5 * data.qpos[0] - 2 * data.qpos[2], 0.0]
        rates = [5 * data.qvel[1], data.qvel[2], data.qvel[0], 0.5 * data.qvel[0] - 2 * data.qvel[2], 0.0]
        forces = {a.name: a.force(*values) for a, *values in zip(actuated.actuators, u, lengths, rates, strict=True)}
        expected = data.qfrc_actuator[[0, 2]] + [3 * data.qfrc_actuator[1], 0.0]
        assert_close(actuated.generalized_forces(forces, q), expected, tolerance=1e-12)


def test_actuators_limit_efforts_and_have_names(actuated):
    limits = actuated.simulation_model().limits.effort
    assert limits.tolist() == [np.inf, np.inf]  # the velocity servo and the tendon have no force range
    text = ACTUATED.replace("stiffness='1'", "")
    for left_out in ("<velocity name='v' joint='lead' kv='2'/>", "<general name='g' tendon='both' gainprm='3'/>",
                     "<motor name='pull' tendon='rope'/>"):  # fmt: skip
        text = text.replace(left_out, "")
    single = appell.load(text)
    assert single.simulation_model().limits.effort.tolist() == [30.0, 4.0]  # 3 times the gear of 5 times 2
    motion = appell.simulate(single, {"lead": 0.1}, {}, 0.01, tau={"m": 0.5, "p": -1.0})
    assert motion.tau[0].tolist() == [7.5, -1.0]
    assert appell.simulate(single, {}, {}, 0.01, tau={"m": 9.0}, effort_limits="robot").tau[0].tolist() == [30.0, 0.0]
    with pytest.raises(appell.ArgumentError, match="the force of actuator 'thrust' depends on q"):
        appell.simulate(single, {}, {}, 0.01, tau={"thrust": 1.0})


def test_keyframes_are_postures(actuated):
    assert {name: q.tolist() for name, q in actuated.postures.items()} == {"home": [0.1, 0.5], "key1": [0.2, 1.0]}


def test_sites_are_frames(actuated):
    """A site with the name of a body is NAME_site."""
    model = mujoco.MjModel.from_xml_string(ACTUATED)
    data = mujoco.MjData(model)
    q = actuated.postures["home"]
    data.qpos[:] = actuated.to_mujoco(q, 0 * q, ["lead", "follow", "slide"])[0]
    mujoco.mj_forward(model, data)
    for site, frame in (("tip", "tip"), ("b", "b_site")):
        assert_close(actuated.pose(q, frame)[:3, 3], data.site(site).xpos.copy(), tolerance=1e-13)
        assert_close(actuated.pose(q, frame)[:3, :3], data.site(site).xmat.reshape(3, 3).copy(), tolerance=1e-13)


@pytest.mark.parametrize(
    ("equality", "degrees"),
    [
        ("<weld name='w' body1='a' body2='b'/>", 1),
        ("<connect name='w' body1='a' body2='b' anchor='1 0 0'/>", 1),
        ("<connect name='w' body1='a' body2='b' anchor='0 0 0'/>", 2),  # on both axes: it holds nothing
    ],
)
def test_connect_and_weld_close_loops(equality, degrees):
    robot = appell.load(with_equality(equality))
    assert isinstance(robot, ClosedLoopRobot)
    assert robot.nv == degrees
    assert robot.mass_matrix(robot.reference_configuration).shape == (degrees, degrees)
    assert robot.gravity(robot.reference_configuration).shape == (degrees,)
    assert appell.load(with_equality(equality), loops="ignore").joint_names == ("lead", "follow")


def test_springs():
    """Forces of springs, with a reference angle of the joint, are MuJoCo's."""
    text = with_equality("", "stiffness='3' springref='0.35'")
    robot, model = appell.load(text), silent(text)
    joint = robot.joint("lead")
    assert (joint.stiffness, joint.springref) == (3.0, 0.35)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = [0.3, 0.4], [1.0, 2.0]
    mujoco.mj_forward(model, data)
    assert_close(robot.passive_forces(data.qpos, data.qvel), data.qfrc_passive.copy(), tolerance=1e-14)


def test_springs_of_balls_are_left_out_with_a_warning():
    text = "<mujoco><worldbody><body><joint name='b' type='ball' stiffness='3'/><geom size='1'/></body></worldbody></mujoco>"
    with pytest.warns(appell.ModelWarning, match="joint 'b': the spring of 3 N m/rad"):
        assert appell.load(text).joint("b").stiffness == 0.0


def test_free_and_ball_joints():
    """A free body's coordinates are its pose in the world, wherever the file puts it; a ball turns about its anchor."""
    text = """<mujoco><worldbody><body name='drone' pos='1 2 3' euler='10 20 30'><freejoint name='free'/><geom size='.1'/>
        <body name='arm' pos='0 0 .5'><joint name='ball' type='ball' pos='0 .1 0' range='0 30' limited='true' damping='2'/>
        <geom size='.1' pos='.3 0 0'/></body></body></worldbody></mujoco>"""
    robot = appell.load(text)
    assert [(joint.name, joint.kind) for joint in robot.moving_joints] == [("free", "floating"), ("ball", "spherical")]
    assert (robot.nq, robot.nv) == (11, 9)
    ball = robot.joint("ball")
    assert ball.damping == 2.0
    assert ball.limits == Limits()
    half = math.sqrt(0.5)
    q = [0.1, 0.2, 0.3, 0, 0, half, half, half, 0, 0, half]  # the drone turned about z, the arm about its x
    np.testing.assert_allclose(robot.pose(q, "drone")[:3, 3], [0.1, 0.2, 0.3], atol=1e-15)
    np.testing.assert_allclose(robot.pose(q, "arm")[:3, 3], [0.0, 0.2, 0.7], atol=1e-15)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos, _ = robot.to_mujoco(q, np.zeros(9))
    mujoco.mj_kinematics(model, data)
    np.testing.assert_allclose(data.body("arm").xpos, robot.pose(q, "arm")[:3, 3], atol=1e-15)


def test_mujoco_says_what_it_cannot_compile():
    with pytest.raises(appell.ModelError, match="MuJoCo cannot compile it") as caught:
        appell.load("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>")
    assert caught.value.problems[0].kind == "xml"


def test_gravity_that_is_switched_off():
    text = ARM.replace("<option ", "<option><flag gravity='disable'/></option><option ")
    assert appell.load(text).gravity_vector == (0.0, 0.0, 0.0)


def test_without_mujoco_the_remedy_is_named(monkeypatch):
    real = builtins.__import__

    def absent(name, *args, **options):
        if name == "mujoco":
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(appell.ModelError, match=r'pip install "appell\[mjcf\]"'):
        appell.load(ARM)


def test_equalities_that_hold_no_loop():
    """With a mocap body, which is moved from outside, and within one rigid body."""
    bodies = "<body name='m' mocap='true'/><body name='a'><joint name='j'/><geom size='.1' pos='1 0 0'/><body name='c'/></body>"
    text = "<mujoco><worldbody>{}</worldbody><equality><weld name='w' body1='{}' body2='a'/></equality></mujoco>"
    assert appell.load(text.format(bodies, "c")).joint_names == ("j",)
    with pytest.warns(appell.ModelWarning, match="equality 'w': the equality with a mocap body"):
        assert appell.load(text.format(bodies, "m")).joint_names == ("j",)


@pytest.mark.parametrize(
    ("actuator", "kind"),
    [
        ("<muscle name='a' joint='j'/>", "general"), ("<intvelocity name='a' joint='j' actrange='-1 1'/>", "general"),
        ("<motor name='a' joint='j'/>", "motor"), ("<damper name='a' joint='j' kv='1' ctrlrange='0 1'/>", "general"),
    ],
)  # fmt: skip
def test_kinds_of_actuators(actuator, kind):
    body = "<body><joint name='j' range='-1 1' limited='true'/><geom size='.1' pos='1 0 0'/></body>"
    text = f"<mujoco><worldbody>{body}</worldbody><actuator>{actuator}</actuator></mujoco>"
    assert appell.load(text).actuators[0].kind == kind


def test_flexible_bodies_and_fluids_are_left_out_with_a_warning():
    flex = "<flexcomp name='f' type='grid' count='3 3 1' spacing='.1 .1 .1' radius='.01' dim='2' mass='1'/>"
    with pytest.warns(appell.ModelWarning, match="flex 'f': has elastic forces"):
        appell.load(f"<mujoco><worldbody>{flex}</worldbody></mujoco>")
    with pytest.warns(appell.ModelWarning, match="option: forces of the fluid"):
        appell.load(
            "<mujoco><option density='1.2'/><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>"
        )


def test_information_lists_actuators_and_postures(tmp_path, capsys, actuated):
    from appell.cli import main

    (tmp_path / "robot.xml").write_text(
        ACTUATED.replace("stiffness='1'", "").replace("<motor name='pull' tendon='rope'/>", "")
    )
    assert main(["info", str(tmp_path / "robot.xml")]) == 0
    shown = capsys.readouterr().out
    assert "0.5 lead, -2 slide" in shown
    assert "thrust at b_site" in shown
    assert "home" in shown
    assert main(["simulate", str(tmp_path / "robot.xml"), "--q0", "home", "--tau", "m=0.1", "--duration", "0.01", "--csv",
                 str(tmp_path / "m.csv")]) == 0  # fmt: skip
    header, first = (tmp_path / "m.csv").read_text().splitlines()[:2]
    row = dict(zip(header.split(","), first.split(","), strict=True))
    assert (float(row["q.lead"]), float(row["q.slide"]), float(row["tau.lead"])) == (0.1, 0.5, 1.5)


def test_a_name_that_is_not_utf8_is_quoted(tmp_path):
    text = b'<mujoco><worldbody><body name="gl\xf8"><geom size="1"/><joint name="j"/></body></worldbody></mujoco>'
    (tmp_path / "robot.xml").write_bytes(text)
    with pytest.raises(appell.ModelError, match=r"a name is not UTF-8: b'gl\\xf8'. Save the description as UTF-8"):
        appell.load(tmp_path / "robot.xml")
