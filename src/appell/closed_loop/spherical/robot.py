"""Spherical parallel robots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from appell.closed_loop.spherical.kinematics import DEPENDENT_JOINTS
from appell.closed_loop.spherical.leg import (
    WORKING_MODES,
    Leg,
    as_closed_loop,
    closed_loop_configuration,
    leg_joints,
    spanning_tree,
)
from appell.closed_loop.spherical.singularities import random_configurations, singularity, workspace_map
from appell.closed_loop.spherical.system import SphericalSystem
from appell.deprecation import renamed_arguments, renamed_attributes
from appell.errors import ModelError, unknown_name_message
from appell.model.body import Body
from appell.model.description import State
from appell.model.joint import Joint
from appell.model.pose import Triple
from appell.robot.protocol import AnyRobot, delegated
from appell.robot.robot import Robot

if TYPE_CHECKING:
    from appell.closed_loop.robot import ClosedLoopRobot
    from appell.closed_loop.simulation_model import SphericalSimulationModel
    from appell.closed_loop.spherical.forward_kinematics import AssemblyModes


EULER = ("yaw", "pitch", "roll")
"""Names of the 321 Euler angles."""


@renamed_attributes(
    open_tree="spanning_tree", singularities="singularity", tree="system", with_assembly="with_working_modes"
)
@dataclass(frozen=True)
class SphericalRobot(AnyRobot):
    """A platform on legs of revolute joints whose axes all pass through one point, the centre.

    Coordinates are the 321 Euler angles of the platform; legs have any number of joints:

    - three: the leg depends on the platform (eqs 29 to 36);
    - more: its first angles, all but the last three, are coordinates after the Euler angles;
    - fewer: the leg guides the platform, and its angles replace the Euler angles. At most one leg does so.

    Attributes:
        legs: any number.
        platform: centre of mass and inertia, as for every `Body`, in its frame, whose origin is the centre.
        gravity_vector: acceleration of free fall in the world. [m/s²]

    Example:
        >>> import appell
        >>> wrist = appell.load("agile_wrist")
        >>> wrist
        SphericalRobot('agile_wrist', 3 legs, nv=3, coordinates: yaw, pitch, roll)
        >>> wrist.actuator_names
        ('leg1_joint1', 'leg2_joint1', 'leg3_joint1')
        >>> wrist.inverse_dynamics([0.1] * 3, [0.0] * 3, [0.0] * 3).shape
        (3,)
    """

    name: str
    legs: tuple[Leg, ...]
    platform: Body
    gravity_vector: Triple = (0.0, 0.0, -9.81)
    initial_state: State | None = None
    source: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        names = [self.platform.name, *(body.name for leg in self.legs for body in leg.bodies)]
        for kind, given in (("bodies", names), ("legs", [leg.name for leg in self.legs])):
            for name in given:
                if given.count(name) > 1:
                    raise ModelError(f"{self.name}: two {kind} are named {name!r}. Give each a unique name.")
        guides = [leg.name for leg in self.legs if leg.joints < DEPENDENT_JOINTS]
        if len(guides) > 1:
            raise ModelError(
                f"{self.name}: legs {' and '.join(map(repr, guides))} have fewer than three joints; one leg may guide the "
                "platform. Take a body of the other one as platform, or describe a tree with loop closures."
            )

    @cached_property
    def guide(self) -> int | None:
        """Index of the leg that guides the platform, None if there is none."""
        return next((i for i, leg in enumerate(self.legs) if leg.joints < DEPENDENT_JOINTS), None)

    @cached_property
    def system(self) -> SphericalSystem:
        """The numerical model that the algorithms take."""
        return SphericalSystem.of(self)

    closure_names = delegated("system.parts", "Names of the legs.")
    closures = ()
    """Loop closures: none, the equations are in closed form."""
    rotors = 0

    singularity = singularity

    @cached_property
    def nv(self) -> int:
        """Degrees of freedom."""
        return self.system.nv

    nq = delegated("nv", "Number of coordinates.")

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the coordinates, in the order of q."""
        guided = EULER if self.guide is None else self.legs[self.guide].joint_names
        free = [
            name for i, leg in enumerate(self.legs) if i != self.guide for name in leg.joint_names[:-DEPENDENT_JOINTS]
        ]
        return (*guided, *free)

    @cached_property
    def first_coordinates(self) -> dict[str, tuple[int, int]]:
        """Indices of each coordinate in q and of its rate in qd."""
        return {name: (k, k) for k, name in enumerate(self.joint_names)}

    @cached_property
    def leg_joint_names(self) -> tuple[str, ...]:
        """Names of all joints of all legs, in the order of `joint_angles`."""
        return tuple(name for leg in self.legs for name in leg.joint_names)

    q_names = delegated("joint_names", "A name for every entry of q.")
    qd_names = delegated("joint_names", "A name for every entry of qd.")

    @cached_property
    def actuator_names(self) -> tuple[str, ...]:
        """Names of the actuated joints, in the order of tau."""
        return tuple(leg.joint_names[k] for leg in self.legs for k in leg.actuated)

    @cached_property
    def actuated(self) -> tuple[int, ...]:
        """Indices of the actuated joints in `leg_joint_names`."""
        return tuple(self.leg_joint_names.index(name) for name in self.actuator_names)

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The platform, then the bodies of the legs."""
        return (self.platform, *(body for leg in self.legs for body in leg.bodies))

    @cached_property
    def joints(self) -> tuple[Joint, ...]:
        """The joints of all legs; the last one of each carries the platform."""
        return tuple(joint for leg in self.legs for joint in leg_joints(leg, self.platform.name))

    @property
    def moving_joints(self) -> tuple[Joint, ...]:
        """The joints whose angles are coordinates."""
        return tuple(joint for joint in self.joints if joint.name in self.joint_names)

    @cached_property
    def spanning_tree(self) -> Robot:
        """The spanning tree: legs without their last joints, the platform on its Euler angles."""
        return spanning_tree(self)

    @property
    def body_names(self) -> tuple[str, ...]:
        """Names of all bodies, which are also the names of the frames."""
        return tuple(body.name for body in self.bodies)

    def with_gravity(self, gravity: Sequence[float]) -> SphericalRobot:
        """The same robot under another gravity vector [m/s²]."""
        x, y, z = (float(value) for value in gravity)
        return replace(self, gravity_vector=(x, y, z))

    @renamed_arguments(assembly="working_mode")
    def with_working_modes(self, working_mode: str | Sequence[str]) -> SphericalRobot:
        """The same robot with other roots of eq. (34): `"plus"` or `"minus"`, for all legs or one per leg.

        Example:
            >>> import appell
            >>> wrist = appell.load("agile_wrist").with_working_modes(("plus", "minus", "plus"))
            >>> [leg.working_mode for leg in wrist.legs]
            ['plus', 'minus', 'plus']
        """
        modes = (working_mode,) * len(self.legs) if isinstance(working_mode, str) else tuple(working_mode)
        if len(modes) != len(self.legs):
            raise ModelError(
                f"got {len(modes)} working modes for {len(self.legs)} legs. Give one name, or one per leg."
            )
        for name in modes:
            if name not in WORKING_MODES:
                raise ModelError(unknown_name_message("working mode", name, WORKING_MODES))
        legs = (replace(leg, working_mode=name) for leg, name in zip(self.legs, modes, strict=True))
        return replace(self, legs=tuple(legs))

    def simulation_model(self) -> SphericalSimulationModel:
        """The interface that `appell.simulate` uses."""
        from appell.closed_loop.simulation_model import SphericalSimulationModel

        return SphericalSimulationModel(self)

    def forward_kinematics(self, angles: ArrayLike) -> AssemblyModes:
        """All orientations of the platform at given angles of the actuated joints, at most eight; for three legs of three joints.

        Args:
            angles: of the actuators, (3,). [rad]

        Example:
            >>> import appell
            >>> wrist = appell.load("agile_wrist")
            >>> theta = wrist.joint_angles([0.1, 0.2, 0.3])[list(wrist.actuated)]
            >>> found = wrist.forward_kinematics(theta)
            >>> len(found), found.nearest([0.1, 0.2, 0.3]).round(9).tolist()
            (2, [0.1, 0.2, 0.3])
        """
        from appell.closed_loop.spherical.forward_kinematics import all_assembly_modes

        return all_assembly_modes(self, angles)

    def forward_kinematics_near(self, angles: ArrayLike, start: ArrayLike) -> np.ndarray:
        """The coordinates near `start` at given angles of the actuators, by Newton's method, (..., nq).

        Raises:
            LoopClosureError: Newton's method does not converge.

        Example:
            >>> import appell
            >>> wrist = appell.load("agile_wrist")
            >>> theta = wrist.joint_angles([0.1, 0.2, 0.3])[list(wrist.actuated)]
            >>> wrist.forward_kinematics_near(theta, start=[0.0, 0.0, 0.0]).round(9).tolist()
            [0.1, 0.2, 0.3]
        """
        from appell.closed_loop.spherical.forward_kinematics import solve_near

        return solve_near(self, angles, start)

    workspace_map = workspace_map
    as_closed_loop = as_closed_loop
    closed_loop_configuration = closed_loop_configuration

    @renamed_arguments(torques="tau")
    def constraint_forces(
        self, q, qd, tau, *, gravity=None, external_forces=None, parameters=None, check=True
    ) -> Mapping[str, np.ndarray]:
        """Wrench of the last joint of each leg on the platform under actuator forces tau: name, (..., 6). [N, N m]

        Computed by `as_closed_loop()`: force first, at the centre, along the axes of the leg's last body. All axes meet in one
        point, so the distribution of forces over the legs is not unique; the one of minimum norm is returned.

        Example:
            >>> import appell
            >>> wrist = appell.load("agile_wrist")
            >>> tau = wrist.inverse_dynamics([0.1] * 3, [0.0] * 3, [0.0] * 3)
            >>> sorted(wrist.constraint_forces([0.1] * 3, [0.0] * 3, tau))
            ['leg1_joint3', 'leg2_joint3', 'leg3_joint3']
        """
        x = self.closed_loop_configuration(q)
        return self._loops.constraint_forces(
            x, qd, tau, gravity=gravity, external_forces=external_forces, parameters=parameters, check=check
        )

    def neutral_configuration(self) -> np.ndarray:
        """All coordinates zero, (nq,). [rad]"""
        return np.zeros(self.nq)

    def passive_forces(self, q: ArrayLike, qd: ArrayLike) -> np.ndarray:
        """Zero: the joints have neither damping nor friction. (..., nv) [N m]"""
        return np.zeros_like(qd, dtype=float)

    def random_configurations(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Regular configurations drawn uniformly within the workspace, (count, nq). [rad]"""
        return random_configurations(self, count, rng)

    @cached_property
    def _loops(self) -> ClosedLoopRobot:
        """`as_closed_loop` at a random regular configuration."""
        return self.as_closed_loop(self.random_configurations(1, np.random.default_rng(0))[0])

    def __repr__(self) -> str:
        return (
            f"SphericalRobot({self.name!r}, {len(self.legs)} legs, nv={self.nv}, "
            f"coordinates: {', '.join(self.joint_names)})"
        )
