"""Control laws by name. A law is a file here with a `LAW`, listed in LAWS."""

from __future__ import annotations

from appell.algorithms.laws import computed_torque, integral_tracking, pd, pd_gravity, point_to_point, torque
from appell.algorithms.laws.law import Law, Model, Signals, Vector

__all__ = ["LAWS", "Law", "Model", "Signals", "Vector"]

LAWS = {
    module.LAW.name: module.LAW
    for module in (torque, pd, pd_gravity, point_to_point, computed_torque, integral_tracking)
}
"""Every law, by name."""
