"""What the functions of robots need: gravity, external forces, a frame, masses."""

from __future__ import annotations

import pytest

import appell
from appell.algorithms.function_spec import FunctionSpec, as_function_spec, describe
from appell.algorithms.registry import QUANTITIES, find

KINEMATIC = {name for name, each in QUANTITIES.items() if not each.uses_mass}


def test_functions_of_kinematics_need_no_masses_and_no_gravity():
    assert {"pose", "jacobian", "jacobian_rate", "jacobian_derivatives"} <= KINEMATIC
    assert {name for name in KINEMATIC if QUANTITIES[name].uses_gravity} == {"regressor"}  # whose masses are factors
    assert not {name for name in KINEMATIC if QUANTITIES[name].uses_external_forces}
    framed = {name for name, each in QUANTITIES.items() if each.needs_frame}
    assert framed == {"pose", "jacobian", "jacobian_rate", "jacobian_derivatives"}


def test_functions_of_forces_take_external_ones():
    forced = {name for name, each in QUANTITIES.items() if each.uses_external_forces}
    assert {"inverse_dynamics", "forward_dynamics", "bias"} <= forced
    assert not forced & {"mass_matrix", "kinetic_energy", "potential_energy", "coriolis_matrix", "regressor"}
    assert not QUANTITIES["mass_matrix"].uses_gravity
    assert not QUANTITIES["kinetic_energy"].uses_gravity
    assert QUANTITIES["gravity"].uses_gravity


def test_every_function_has_its_inputs():
    """External forces enter equations of motion; gravity enters forces and potentials; masses all but kinematics."""
    forced = {"inverse_dynamics", "forward_dynamics", "bias", "inverse_dynamics_derivatives", "forward_dynamics_derivatives",
              "inverse_dynamics_second_derivatives"}  # fmt: skip
    weighed = forced | {"gravity", "potential_energy", "gibbs_function", "regressor"}
    identities = {"actuator_jacobian", "joint_velocity_jacobian", "joint_velocities", "joint_accelerations"}
    framed = {"pose", "jacobian", "jacobian_derivatives", "jacobian_rate"}
    assert {name for name, each in QUANTITIES.items() if each.uses_external_forces} == forced
    assert {name for name, each in QUANTITIES.items() if each.uses_gravity} == weighed
    assert framed | identities | {"regressor"} == KINEMATIC
    shapes = {
        name: each.shape for name, each in QUANTITIES.items() if any(isinstance(size, int) for size in each.shape)
    }
    assert shapes == {
        "center_of_mass": (3,), "center_of_mass_jacobian": (3, "v"), "centroidal_momentum": (6,),
        "centroidal_momentum_matrix": (6, "v"), "pose": (4, 4), "jacobian": (6, "v"), "jacobian_derivatives": (6, "v", "v"),
        "jacobian_rate": (6, "v"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "degrees", "short", "long"),
    [
        ("forward_dynamics", 8, "gibbs", "articulated"),
        ("mass_matrix", 20, "gibbs_hessian", "composite"),
    ],
)
def test_long_chains_have_other_methods(name, degrees, short, long):
    """Those that are faster from this number of degrees of freedom on; by name any of them."""
    assert [find(name, None, n)[1] for n in (0, degrees, degrees + 1, 100)] == [short, short, long, long]
    assert find(name, long, 2)[1] == long
    assert find(name)[1] == short
    assert find("bias", None, 100)[1] == "mata2002"
    assert find("inverse_dynamics_derivatives")[1] == find("forward_dynamics_derivatives")[1] == "analytic"
    assert find("generalized_forces")[0].name == "inverse_dynamics"


def test_signatures_count_every_input():
    system = appell.load("planar2r").system
    spec = FunctionSpec("inverse_dynamics", gravity_input=True, force_frames=("link1", "link2"), parameter_input=True)
    found = system.signature(spec)
    assert found.inputs == (
        ("q", 2),
        ("qd", 2),
        ("qdd", 2),
        ("gravity", 3),
        ("external_forces", 12),
        ("parameters", 20),
    )
    assert (found.shape, found.entries) == ((2,), 2)
    assert system.signature(FunctionSpec("inverse_dynamics")).inputs == (("q", 2), ("qd", 2), ("qdd", 2))
    assert system.signature(FunctionSpec("inverse_dynamics_derivatives")).shape == (2, 6)
    for wrong, word in (
        (FunctionSpec("mass_matrix", gravity_input=True), "gravity"),
        (FunctionSpec("mass_matrix", force_frames=("link1",)), "external"),
        (FunctionSpec("pose", frame="link1", parameter_input=True), "parameters"),
        (FunctionSpec("pose", frame="link1", reference="BODY"), "reference frame"),
        (FunctionSpec("pose", frame="link9"), "link9"),
        (FunctionSpec("bias", force_frames=("link9",)), "link9"),
    ):
        with pytest.raises(appell.ArgumentError, match=word):
            system.signature(wrong)


def test_specs_in_words():
    assert as_function_spec("jacobian:tool:LOCAL") == FunctionSpec("jacobian", None, frame="tool", reference="LOCAL")
    assert as_function_spec(" bias@mata2002") == FunctionSpec("bias", "mata2002")
    assert as_function_spec("pose:a:b") == FunctionSpec("pose", frame="a:b")
    plain = FunctionSpec("pose")
    assert (plain.gravity_input, plain.parameter_input, plain.force_frames) == (False, False, ())
    assert describe(as_function_spec("jacobian:tool:LOCAL")) == "jacobian:tool:LOCAL"
    assert describe(FunctionSpec("jacobian", frame="tool")) == "jacobian:tool"
    assert describe(FunctionSpec("bias", "mata2002", True, ("a",), parameter_input=True)) == (
        "bias@mata2002 with gravity, forces, parameters"
    )
