"""Inverse kinematics: closed form where the arm has one, damped least squares for every other robot."""

from __future__ import annotations

from appell.kinematics.inverse.closed_form import BRANCHES
from appell.kinematics.inverse.inverse import Solution, inverse_kinematics, why_not_closed_form
from appell.kinematics.inverse.least_squares import LeastSquaresOptions

__all__ = ["BRANCHES", "LeastSquaresOptions", "Solution", "inverse_kinematics", "why_not_closed_form"]
