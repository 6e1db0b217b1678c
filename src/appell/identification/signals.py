"""Zero-phase filters, central differences and decimation of sampled signals."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

FILTER_ORDER = 4
"""Order of the Butterworth filter, which runs forwards and backwards."""

FIRST_DIFFERENCE = np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / 12.0
SECOND_DIFFERENCE = np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / 12.0
"""Central differences of fourth order over five samples."""

BAND = 12
"""Samples that are decimated at once."""

POWER_SHARE = 0.999
"""The band of the motion holds this share of the coordinates' power."""


def low_pass(signal: np.ndarray, cutoff: float, period: float) -> np.ndarray:
    """Columns of a signal (N, n) below a frequency [Hz], filtered forwards and backwards, without delay."""
    from scipy.signal import sosfiltfilt

    sections = _sections(2.0 * cutoff * period)
    filtered = np.empty(signal.shape)
    padding = min(len(signal) - 1, max(15, int(2.0 / (cutoff * period))))
    for k in range(signal.shape[1]):  # one by one, to save memory
        filtered[:, k] = sosfiltfilt(sections, signal[:, k], padlen=padding)
    return filtered


@lru_cache(maxsize=32)
def _sections(cutoff: float) -> np.ndarray:
    """Second-order sections of the Butterworth filter, for a cut-off relative to half the sampling rate."""
    from scipy.signal import butter

    return np.asarray(butter(FILTER_ORDER, cutoff, output="sos"))


def differentiate(
    signal: np.ndarray, period: float, stencil: np.ndarray = FIRST_DIFFERENCE, power: int = 1
) -> np.ndarray:
    """Derivative of the columns of a signal (N, n), continued by its first and last samples."""
    from scipy.ndimage import correlate1d

    return correlate1d(signal, stencil / period**power, axis=0, mode="nearest")


def motion_band(q: np.ndarray, period: float) -> float:
    """Frequency [Hz] below which nearly all power of the coordinates (N, n) lies, in the median of the moving ones.

    Power of positions and not of velocities, in which weak spectral lines at high frequencies, vibrations or interference,
    weigh as much as the motion.
    """
    from scipy.signal import periodogram

    frequencies, power = periodogram(q, 1.0 / period, window="hann", detrend="linear", axis=0)
    moving = np.ptp(q, axis=0) > 1e-3
    if not moving.any():
        return 0.02 / period
    share = np.cumsum(power[:, moving], axis=0)
    reached = [frequencies[np.searchsorted(column, POWER_SHARE * column[-1])] for column in share.T]
    return min(float(np.median(reached)), 0.1 / period)


@lru_cache(maxsize=32)
def decimation_kernel(factor: int) -> np.ndarray:
    """A symmetric low-pass filter (2 half + 1,) below the Nyquist frequency of every `factor`-th sample."""
    from scipy.signal import firwin

    return np.ones(1) if factor == 1 else np.asarray(firwin(12 * factor + 1, 0.75 / factor))


def decimate(rows: np.ndarray, kernel: np.ndarray, factor: int) -> np.ndarray:
    """Every `factor`-th row (along the first axis) of the filtered signal, where the filter overlaps it completely.

    A dozen results at once are a banded matrix times a window of the rows.
    """
    if factor == 1:
        return rows
    flat = np.ascontiguousarray(rows.reshape(len(rows), -1), dtype=float)
    count = max(0, (len(rows) - len(kernel)) // factor + 1)
    result = np.empty((count, flat.shape[1]))
    band = np.zeros((BAND, (BAND - 1) * factor + len(kernel)))
    for k in range(BAND):
        band[k, k * factor : k * factor + len(kernel)] = kernel
    whole = count // BAND
    shape, (row, entry) = (whole, band.shape[1], flat.shape[1]), flat.strides
    windows = np.lib.stride_tricks.as_strided(flat, shape, (BAND * factor * row, row, entry), writeable=False)
    np.matmul(band, windows, out=result[: whole * BAND].reshape(whole, BAND, flat.shape[1]))
    left = count - whole * BAND
    width = (left - 1) * factor + len(kernel)
    if left:
        result[whole * BAND :] = band[:left, :width] @ flat[whole * BAND * factor :][:width]
    return result.reshape(count, *rows.shape[1:])
