"""Rotations as quaternions, the way MuJoCo stores them."""

from __future__ import annotations

from typing import Any

import numpy as np


def rotation(quaternion: Any) -> np.ndarray:
    """Direction cosines of a unit quaternion w, x, y, z."""
    w, x, y, z = np.asarray(quaternion, dtype=float) / np.linalg.norm(quaternion)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip
