"""Integrators by name. One is a class with the interface of `scipy.integrate.OdeSolver`; to add one, list it here."""

from __future__ import annotations

from scipy.integrate import BDF, DOP853, LSODA, RK23, RK45, OdeSolver, Radau

from appell.errors import ArgumentError, choices

METHODS: dict[str, type[OdeSolver]] = {
    "DOP853": DOP853,
    "RK45": RK45,
    "RK23": RK23,
    "Radau": Radau,
    "BDF": BDF,
    "LSODA": LSODA,
}


def method_named(name: str) -> type[OdeSolver]:
    """The integrator of this name."""
    if name not in METHODS:
        raise ArgumentError(choices("method", name, METHODS))
    return METHODS[name]
