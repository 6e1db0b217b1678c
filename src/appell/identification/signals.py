"""Zero-phase filters, central differences and decimation of sampled signals."""

from __future__ import annotations

import numpy as np

FILTER_ORDER = 4
"""Order of the Butterworth filter, which runs forwards and backwards."""

FIRST_DIFFERENCE = np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / 12.0
SECOND_DIFFERENCE = np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / 12.0
"""Central differences of fourth order over five samples."""

POWER_SHARE, CUTOFF_FACTOR = 0.999, 6.0
"""The automatic cut-off is this factor times the frequency below which this share of the velocities' power lies."""


def low_pass(signal: np.ndarray, cutoff: float, period: float) -> np.ndarray:
    """Columns of a signal (N, n) below a frequency [Hz], filtered forwards and backwards, without delay."""
    from scipy.signal import butter, sosfiltfilt

    sections = butter(FILTER_ORDER, 2.0 * cutoff * period, output="sos")
    filtered = np.empty(signal.shape)
    for k in range(signal.shape[1]):  # one by one, to save memory
        filtered[:, k] = sosfiltfilt(sections, signal[:, k])
    return filtered


def differentiate(
    signal: np.ndarray, period: float, stencil: np.ndarray = FIRST_DIFFERENCE, power: int = 1
) -> np.ndarray:
    """Derivative of the columns of a signal (N, n), continued by its first and last samples."""
    from scipy.ndimage import correlate1d

    return correlate1d(signal, stencil / period**power, axis=0, mode="nearest")


def automatic_cutoff(q: np.ndarray, period: float) -> float:
    """A cut-off [Hz] that keeps motion and drops noise, from the spectrum of coordinates (N, n).

    The upper half of the spectrum gives the level of the white noise. Power above twice the expected maximum of n noise
    samples, 2 log n times their mean, is motion (noise of a repeated motion repeats as well), weighted as of velocities.
    """
    from scipy.signal import periodogram

    frequencies, power = periodogram(q, 1.0 / period, window="hann", detrend="linear", axis=0)
    noise = np.median(power[len(power) // 2 :], axis=0) / np.log(2.0)
    motion = np.where(power > 4.0 * np.log(len(power)) * noise, power - noise, 0.0) * (frequencies**2)[:, None]
    total = np.cumsum(motion, axis=0)
    moving = (total[-1] > 0) & (np.ptp(q, axis=0) > 1e-6)
    if not moving.any():
        return 0.2 / period
    reached = [frequencies[np.searchsorted(column, POWER_SHARE * column[-1])] for column in total[:, moving].T]
    return float(np.clip(CUTOFF_FACTOR * np.median(reached), 5.0 / (len(q) * period), 0.2 / period))


def decimation_kernel(factor: int) -> np.ndarray:
    """A symmetric low-pass filter (2 half + 1,) below the Nyquist frequency of every `factor`-th sample."""
    from scipy.signal import firwin

    return np.ones(1) if factor == 1 else np.asarray(firwin(20 * factor + 1, 0.8 / factor))


def decimate(rows: np.ndarray, kernel: np.ndarray, factor: int) -> np.ndarray:
    """Every `factor`-th row (along the first axis) of the filtered signal, where the filter overlaps it completely."""
    from scipy.signal import upfirdn

    if factor == 1:
        return rows
    length = len(kernel)
    flat = rows.reshape(len(rows), -1)
    count = (len(rows) - length) // factor + 1
    skip = -(-(length - 1) // factor)  # outputs before the first complete one, after shifting the grid onto it
    shift = skip * factor - (length - 1)
    padded = np.concatenate([np.zeros((shift, flat.shape[1])), flat]) if shift else flat
    filtered = upfirdn(kernel, padded, down=factor, axis=0)[skip : skip + count]
    return filtered.reshape(count, *rows.shape[1:])
