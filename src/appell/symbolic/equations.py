"""`appell.equations`: the equations of motion of small robots in closed form."""

from __future__ import annotations

from appell.closed_loop.robot import ClosedLoopRobot
from appell.errors import AppellError
from appell.robot.robot import Robot
from appell.symbolic.closed_loops import ClosedLoopEquations, closed_loop_equations
from appell.symbolic.tree_equations import Equations, tree_equations


def equations(
    robot: Robot | ClosedLoopRobot, symbols: bool = False, *, force: bool = False
) -> Equations | ClosedLoopEquations:
    """The equations of motion in closed form, by the algorithms of the numeric functions.

    Args:
        robot: a tree with joints of any kind, or a robot with closed loops.
        symbols: True replaces every nonzero number of the robot by a symbol: masses `m1`, centres of mass `lc1`, inertias `I1`
            about them, lengths `l1`, gravity `g`. False keeps the numbers.
        force: True allows robots of more than four degrees of freedom.

    Returns:
        SymPy matrices in the coordinates `q1, q2, ...` and velocities `qd1, qd2, ...`, as sums of sines and cosines of sums of
        joint angles. A notebook shows them as formulas; `.latex()` gives LaTeX. For closed loops
        `appell.symbolic.closed_loops.ClosedLoopEquations`: those of the tree, with the closures.

    Example:
        >>> import appell
        >>> arm = appell.equations(appell.load("planar2r"), symbols=True)
        >>> arm.M[1, 0]
        I2 + l1*lc2*m2*cos(q2) + lc2**2*m2
        >>> arm.gravity[1]
        g*lc2*m2*cos(q1 + q2)
    """
    try:
        import sympy  # noqa: F401
    except ImportError:
        raise AppellError("equations need SymPy, which is not installed. Run: pip install 'appell[symbolic]'") from None
    if isinstance(robot, ClosedLoopRobot):
        return closed_loop_equations(robot, symbols, force)
    return tree_equations(robot, symbols, force)[0]
