"""Where compiled functions can run. To add a target: write its evaluator and list it here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from appell.algorithms.request import Request, Signature
from appell.algorithms.system import System, signature
from appell.compiler.evaluate import Evaluator
from appell.compiler.fingerprint import digest, request_digest, tree_digest
from appell.compiler.forms import Form, choose
from appell.compiler.options import Options
from appell.model.parameters import parameters

if TYPE_CHECKING:
    from appell.model.tree import Tree


STRETCH: dict[str | tuple[str, str], float] = {
    "inverse_dynamics": 2.5,
    "bias": 2.5,
    "gravity": 2.5,
    ("forward_dynamics", "float64"): 0.5,
}
"""How much longer straight-line code may be on a GPU, by function, or by function and precision: measured on a floating
humanoid (docs/decisions/0005)."""


def gpu_form(tree: Tree | System, request: Request, dtype: str) -> Form:
    """The form of a function for a GPU."""
    name = request.function
    return choose(tree, request, STRETCH.get(name, STRETCH.get((name, dtype), 1.0)))


def on_gpu(tree: Tree | System, options: Options) -> Any:
    """Functions that take and give arrays on a GPU."""
    import numpy as np

    from appell.compiler.targets.cuda.evaluate import CudaEvaluator

    robot = tree_digest(tree)

    def provide(request: Request) -> tuple[str, Signature, Callable[[], Form]]:
        return (
            digest(robot, request_digest(tree, request)),
            signature(tree, request),
            lambda: gpu_form(tree, request, options.dtype),
        )

    own = tree.parameters if isinstance(tree, System) else parameters(tree)
    return CudaEvaluator(provide, options, np.array(own, dtype=options.dtype), tree.quaternions)


TARGETS: dict[str, Callable[[Any, Options], Any]] = {"cpu": Evaluator, "cuda": on_gpu}
