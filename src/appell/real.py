"""Real numbers as people write them: Python's, NumPy's, and arrays without dimensions; truth values are none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def real(value: Any) -> float:
    """The number, or NaN, which no comparison accepts, if it is none.

    Example:
        >>> import numpy as np
        >>> from appell.real import real
        >>> real(np.float32(0.5)), real(np.array(2)), real(True), real("1")
        (0.5, 2.0, nan, nan)
    """
    array = np.asarray(value)
    return float(array) if array.ndim == 0 and array.dtype.kind in "iuf" else math.nan


def whole(value: Any) -> int | None:
    """The whole number, or None if it is none.

    Example:
        >>> import numpy as np
        >>> from appell.real import whole
        >>> whole(np.int64(3)), whole(3.0), whole(True)
        (3, None, None)
    """
    array = np.asarray(value)
    return int(array) if array.ndim == 0 and array.dtype.kind in "iu" else None
