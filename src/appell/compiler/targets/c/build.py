"""From a request to a native kernel: out of the cache, or traced, written, compiled and kept."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from appell.compiler import cache
from appell.compiler.fingerprint import digest, request_digest, tree_digest
from appell.compiler.forms import choose
from appell.compiler.targets.c.isa import instruction_set
from appell.compiler.targets.c.library import Library, open_code, open_library
from appell.compiler.targets.c.simd import kernel_source
from appell.compiler.targets.c.toolchain import Compiler
from appell.errors import CompileError

if TYPE_CHECKING:
    from appell.algorithms.request import Request, Signature
    from appell.algorithms.system import System
    from appell.compiler.evaluate import Kernel
    from appell.compiler.options import Options
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
        """The name of a request's kernel."""
        return self.name(self.robot_key, request_digest(self.tree, request))

    def name(self, *content: object) -> str:
        """The name of code with this content: precision, instruction set, compiler and options belong to it."""
        target = (self.target.name, self.target.flags, self.target.width)
        return digest(*content, self.options.dtype, target, self.compiler.identity, self.compiler.flags)

    def cached(self, request: Request, signature: Signature) -> Kernel | None:
        """The kernel if it was compiled before."""
        found = self.kept(self.key(request))
        return found and found.kernel(signature, self.options.dtype, self.options.threads)

    def build(self, request: Request, signature: Signature) -> Kernel:
        """The kernel, compiled now."""
        library = self.compiled(self.key(request), self.source(request))
        return library.kernel(signature, self.options.dtype, self.options.threads)

    def kept(self, name: str) -> Library | None:
        """Code out of the cache."""
        path = cache.find(cache.default_folder(), name)
        try:
            return None if path is None else open_library(path)
        except CompileError:
            return None

    def compiled(self, name: str, source: str) -> Library:
        """Code compiled now, and kept under its name."""
        code = self.compiler.build(source, self.target)
        path = cache.store(cache.default_folder(), name, code)
        return open_code(code) if path is None else open_library(path)

    def source(self, request: Request) -> str:
        """C source of a kernel."""
        form = choose(self.tree, request)
        dtype = self.options.dtype
        title = f"{request.function} of a robot: {dtype}, {self.target.name}"
        return kernel_source(form, dtype, self.target.lanes(dtype), title)
