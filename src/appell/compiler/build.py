"""From a request to a native kernel: out of the cache, or traced, written, compiled and kept."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from appell.compiler import cache
from appell.compiler.fingerprint import digest, request_digest, tree_digest
from appell.compiler.forms import choose
from appell.compiler.isa import instruction_set
from appell.compiler.library import load_code, load_kernel
from appell.compiler.simd import kernel_source
from appell.compiler.toolchain import Compiler
from appell.errors import CompileError

if TYPE_CHECKING:
    from appell.compiler.evaluate import Kernel
    from appell.compiler.options import Options
    from appell.compiler.request import Request
    from appell.compiler.system import System
    from appell.compiler.trace import Signature
    from appell.model.tree import Tree


class Builder:
    """Makes native kernels of one robot."""

    def __init__(self, tree: Tree | System, options: Options, compiler: Compiler) -> None:
        self.tree, self.options, self.compiler = tree, options, compiler
        self.target = instruction_set(options.isa)

    @cached_property
    def robot_key(self) -> str:
        return tree_digest(self.tree)

    def key(self, request: Request) -> str:
        """The name of a kernel: robot, request, precision, instruction set, compiler and options."""
        target = (self.target.name, self.target.flags, self.target.width)
        asked = request_digest(self.tree, request)
        return digest(self.robot_key, asked, self.options.dtype, target, self.compiler.identity, self.compiler.flags)

    def cached(self, request: Request, signature: Signature) -> Kernel | None:
        """The kernel if it was compiled before."""
        path = cache.find(cache.default_folder(), self.key(request))
        if path is None:
            return None
        try:
            return load_kernel(path, signature, self.options.dtype, self.options.threads)
        except CompileError:
            return None

    def build(self, request: Request, signature: Signature) -> Kernel:
        """The kernel, compiled now."""
        code = self.compiler.build(self.source(request), self.target)
        path = cache.store(cache.default_folder(), self.key(request), code)
        dtype, threads = self.options.dtype, self.options.threads
        return (
            load_code(code, signature, dtype, threads) if path is None else load_kernel(path, signature, dtype, threads)
        )

    def source(self, request: Request) -> str:
        """C source of a kernel."""
        form = choose(self.tree, request)
        dtype = self.options.dtype
        title = f"{request.function} of a robot: {dtype}, {self.target.name}"
        return kernel_source(form, dtype, self.target.lanes(dtype), title)
