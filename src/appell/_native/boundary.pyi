from collections.abc import Callable
from typing import Any

import numpy as np

class Kernel:
    def __init__(
        self,
        library: object,
        one: int,
        batch: int,
        work: int,
        sizes: tuple[int, ...],
        shape: tuple[int, ...],
        single: bool,
        threads: int,
        grain: int,
    ) -> None: ...
    def run(self, inputs: tuple[np.ndarray, ...], out: np.ndarray, /) -> bool: ...

class Function:
    def __init__(self, kernel: Kernel, general: Callable[..., Any], parameters: np.ndarray | None, rows: bool) -> None: ...
    def __call__(self, *arguments: Any) -> Any: ...

def cpu_features() -> set[str]: ...
