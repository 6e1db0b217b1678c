"""Choices by cross-validation: cut-off frequency, time lag of the forces, coupled joints, friction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.identification.base import BaseParameters, base_parameters
from appell.identification.cleaning import Segment
from appell.identification.cross_validation import LAG_STEPS, Products, products, windows
from appell.identification.cutoff import choose_cutoff, describe_cutoff
from appell.identification.findings import Finding
from appell.identification.lag import Lag, choose_lag, shifted_motions
from appell.identification.observations import ProgressCallback, ignore
from appell.identification.term_selection import (
    COULOMB_WIDTH,
    TermComparison,
    Terms,
    coupling_terms,
    friction_terms,
    width_terms,
)
from appell.robot.protocol import AnyRobot
from appell.robot.regressor_terms import Coupling


@dataclass(frozen=True)
class Choices:
    """What was chosen, with the evidence.

    Attributes:
        cutoff: cut-off frequency. [Hz]
        terms: regressor terms.
        lag: of the forces.
        curve: cut-off frequencies and their prediction errors.
        notes: one line for each choice.
        findings: choices that are doubtful.
        products: of the terms, for other comparisons; forces as recorded are the last right-hand sides.
    """

    cutoff: float | None
    terms: Terms
    lag: Lag
    curve: tuple[tuple[float, float], ...]
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]
    products: Products | None = None


def choose(
    robot: AnyRobot,
    segments: Sequence[Segment],
    base: BaseParameters,
    terms: Terms,
    cutoff: float | str | None,
    free: bool,
    report: ProgressCallback = ignore,
) -> Choices:
    """Cut-off frequency, if `"auto"`, lag, and couplings and friction beyond the given terms if `free`, by cross-validation."""
    parts, automatic = windows(segments), isinstance(cutoff, str)
    frequency, curve = choose_cutoff(robot, parts, base, terms, report) if isinstance(cutoff, str) else (cutoff, [])
    motions, shifted, step = shifted_motions(robot, parts, frequency)
    free = free and robot is robot.spanning_tree
    candidates = coupling_terms(robot, COULOMB_WIDTH) if free else ()
    data = products(robot, base, terms, candidates, motions, shifted)
    lag = choose_lag(data, step)
    notes = list(lag.notes)
    shift = round(lag.seconds / step) + LAG_STEPS
    if candidates:
        compared = TermComparison(robot, base, terms, data, [(term,) for term in candidates], shift)
        coupled, lines = compared.couplings()
        notes += lines
        if coupled != terms:
            terms, base = coupled, base_parameters(robot, coupled)
            if automatic:
                frequency, curve = choose_cutoff(robot, parts, base, terms, report)
                motions, shifted, step = shifted_motions(robot, parts, frequency)
                shift = round(lag.seconds / step) + LAG_STEPS
    for alternatives in (width_terms, friction_terms) if free else ():
        tried = alternatives(robot, terms)
        data = products(robot, base, terms, [term for own in tried for term in own], motions, shifted)
        terms, lines = TermComparison(robot, base, terms, data, tried, shift).friction()
        notes += lines
    coupled = tuple(term for term in terms if isinstance(term, Coupling))
    if free and coupled:  # friction that was chosen later may explain them
        others = tuple(term for term in terms if term not in coupled)
        base = base_parameters(robot, others)
        again = products(robot, base, others, coupled, motions, shifted)
        terms, lines = TermComparison(robot, base, others, again, [(term,) for term in coupled], shift).couplings()
        notes += [f"with the friction chosen, {line}" for line in lines or ["no motor shaft turns with two joints"]]
    described, findings = describe_cutoff(frequency, curve) if automatic and frequency else ([], [])
    return Choices(frequency, terms, lag, tuple(curve), (*described, *notes), tuple(findings), data)
