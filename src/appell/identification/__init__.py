"""Identification of robot parameters from recorded motion, with their uncertainty (docs/theory/identification.md).

The functions are `appell.identify`, `appell.base_parameters` and `appell.excitation`; this package has their option types,
`identify_payload`, `identify_gains` and `polish`.
"""

from appell.deprecation import renamed_names
from appell.identification.excitation import MotionLimits
from appell.identification.gains import DriveGains, identify_gains
from appell.identification.options import Estimator, Filtering, Holdout, Transmission
from appell.identification.payload import PayloadEstimate, identify_payload
from appell.identification.polish import polish
from appell.identification.recording import Recording
from appell.robot.regressor_terms import (
    AsymmetricViscous,
    Coulomb,
    Coupling,
    CustomTerm,
    LoadFriction,
    Offset,
    RegressorTerm,
    Rotor,
    Stribeck,
    Viscous,
)

__all__ = [
    "AsymmetricViscous", "Coulomb", "Coupling", "CustomTerm", "DriveGains", "Estimator", "Filtering", "Holdout", "LoadFriction",
    "MotionLimits", "Offset", "PayloadEstimate", "Recording", "RegressorTerm", "Rotor", "Stribeck", "Transmission", "Viscous",
    "identify_gains", "identify_payload", "polish",
]  # fmt: skip

__getattr__ = renamed_names(
    __name__,
    {"Block": "appell.robot.regressor_terms:RegressorTerm", "Columns": "appell.robot.regressor_terms:CustomTerm"},
)
