"""Essential parameters: a model without the base parameters that the data cannot tell from zero.

Parameters with the largest relative standard error are set to zero one after the other, and the others change with them, as
long as the residuals do not grow significantly (M. Gautier, S. Briot, G. Venture, Identification of consistent standard dynamic
parameters of industrial robots, IEEE/ASME Int. Conf. on Advanced Intelligent Mechatronics (2013)). With the covariance C of the
estimate, β_k = 0 adds β_k² / C_kk to the squared residuals in units of their noise, without another fit:

    β' = β - C_·k β_k / C_kk        C' = C - C_·k C_k· / C_kk
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SIGNIFICANCE = 0.05
"""Probability of keeping a parameter that is zero."""


class EssentialParameters(NamedTuple):
    """Base parameters `values` (b,), zero where they are not essential, and their covariance (b, b).

    `kept` (b,) are the essential ones. `statistic` is the growth of the squared residuals per dropped parameter, in units of
    their noise, and `limit` the value below which it is not significant (F-test with many samples).
    """

    values: np.ndarray
    covariance: np.ndarray
    kept: np.ndarray
    statistic: float
    limit: float


def essential_parameters(values: np.ndarray, covariance: np.ndarray) -> EssentialParameters:
    """The essential ones of base parameters (b,) with a covariance (b, b).

    Example:
        >>> found = essential_parameters(np.array([5.0, 0.1]), np.array([[1.0, 0.5], [0.5, 1.0]]))
        >>> found.values.tolist(), found.kept.tolist(), round(found.statistic, 3)
        ([4.95, 0.0], [True, False], 0.01)
    """
    from scipy.stats import chi2

    values, C = np.array(values, dtype=float), np.array(covariance, dtype=float)
    kept, growth, dropped = np.ones(len(values), dtype=bool), 0.0, 0
    while kept.any():
        squares = np.where(kept, values**2 / np.maximum(np.diag(C), 1e-300), np.inf)
        k = int(np.argmin(squares))
        limit = chi2.ppf(1.0 - SIGNIFICANCE, dropped + 1)
        if squares[k] > chi2.ppf(1.0 - SIGNIFICANCE, 1) or growth + squares[k] > limit:
            break
        values = values - C[:, k] * values[k] / max(C[k, k], 1e-300)
        C = C - np.outer(C[:, k], C[k]) / max(C[k, k], 1e-300)
        kept[k], growth, dropped = False, growth + float(squares[k]), dropped + 1
        values[k], C[k], C[:, k] = 0.0, 0.0, 0.0
    limit = float(chi2.ppf(1.0 - SIGNIFICANCE, max(dropped, 1))) / max(dropped, 1)
    return EssentialParameters(values, C, kept, growth / max(dropped, 1), limit)
