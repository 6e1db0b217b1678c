"""From a form to a native library: taken from the cache, or written, compiled and cached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from appell.compiler import cache
from appell.compiler.fingerprint import digest
from appell.compiler.targets.c.isa import instruction_set
from appell.compiler.targets.c.library import Library, open_code, open_library
from appell.compiler.targets.c.simd import kernel_source
from appell.compiler.targets.c.toolchain import Compiler
from appell.errors import CompileError

if TYPE_CHECKING:
    from appell.algorithms.function_spec import FunctionSpec
    from appell.compiler.options import Options
    from appell.compiler.provider import Provider


class Builder:
    """Makes native libraries with one compiler, for one instruction set and precision."""

    def __init__(self, options: Options, compiler: Compiler) -> None:
        self.options, self.compiler = options, compiler
        self.target = instruction_set(options.isa)

    def name(self, *content: object) -> str:
        """The name of code with this content: precision, instruction set, compiler and options belong to it."""
        target = (self.target.name, self.target.flags, self.target.width)
        return digest(*content, self.options.dtype, target, self.compiler.identity, self.compiler.flags)

    def kernel_library(self, provider: Provider, spec: FunctionSpec) -> Library:
        """The library of one function, compiled now."""
        return self.compiled(self.name(provider.key(spec)), self.source(provider, spec))

    def source(self, provider: Provider, spec: FunctionSpec) -> str:
        """C source of the library of one function."""
        dtype = self.options.dtype
        title = f"{spec.function} of a robot: {dtype}, {self.target.name}"
        return kernel_source(provider.lowered(spec, "cpu", dtype), dtype, self.target.lanes(dtype), title)

    def cached(self, name: str) -> Library | None:
        """Code out of the cache."""
        path = cache.find(name)
        try:
            return None if path is None else open_library(path)
        except CompileError:
            return None

    def compiled(self, name: str, source: str) -> Library:
        """Code compiled now, and cached under its name."""
        code = self.compiler.build(source, self.target)
        cache.store(name, code)
        path = cache.find(name)
        return open_code(code) if path is None else open_library(path)
