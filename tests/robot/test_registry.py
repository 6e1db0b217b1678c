"""What the functions of robots need: gravity, external forces, a frame, masses."""

from __future__ import annotations

from appell.algorithms.registry import QUANTITIES

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
