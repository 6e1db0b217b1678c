"""Where compiled functions can run. To add a target: write its evaluator and list it here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from appell.compiler.evaluate import Evaluator
from appell.compiler.fingerprint import digest, request_digest, tree_digest
from appell.compiler.forms import Form, choose
from appell.compiler.options import Options
from appell.compiler.request import Request
from appell.compiler.system import System
from appell.compiler.trace import Signature, signature
from appell.model.parameters import parameters

if TYPE_CHECKING:
    from appell.model.tree import Tree


STRETCH = {"float32": 2.5, "float64": 1.0}
"""How much longer straight-line code may be on a GPU: measured on a floating humanoid (docs/decisions/0005)."""


def on_gpu(tree: Tree | System, options: Options) -> Any:
    """Functions that take and give arrays on a GPU."""
    import numpy as np

    from appell.gpu.evaluate import CudaEvaluator

    robot = tree_digest(tree)
    stretch = STRETCH[options.dtype]

    def provide(request: Request) -> tuple[str, Signature, Callable[[], Form]]:
        return (
            digest(robot, request_digest(tree, request)),
            signature(tree, request),
            lambda: choose(tree, request, stretch),
        )

    own = tree.parameters if isinstance(tree, System) else parameters(tree)
    return CudaEvaluator(provide, options, np.array(own, dtype=options.dtype), tree.quaternions)


TARGETS: dict[str, Callable[[Any, Options], Any]] = {"cpu": Evaluator, "cuda": on_gpu}
