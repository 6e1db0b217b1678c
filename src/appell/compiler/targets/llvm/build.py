"""From LLVM IR to native code: taken from the cache, or compiled and cached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from appell.compiler import cache
from appell.compiler.fingerprint import digest
from appell.compiler.targets.llvm.isa import instruction_set
from appell.compiler.targets.llvm.jit import binding, compile_text
from appell.compiler.targets.llvm.library import Library, open_library
from appell.errors import CompileError

if TYPE_CHECKING:
    from appell.compiler.options import Options


class Builder:
    """Makes native code for one instruction set and precision."""

    def __init__(self, options: Options) -> None:
        self.target = instruction_set(options.isa)
        self.real = self.target.real(options.dtype)
        self.version = ".".join(map(str, binding().llvm_version_info))

    def name(self, *content: object) -> str:
        """The name of code with this content: precision, processor and LLVM's version belong to it."""
        return digest(*content, self.real, self.target.cpu, self.target.features, self.version)

    def cached(self, name: str, half: str) -> Library | None:
        """Code out of the cache."""
        code = cache.load(name)
        try:
            return None if code is None else open_library(code, half)
        except CompileError:
            return None

    def compiled(self, name: str, half: str, text: str) -> Library:
        """Code compiled now, and cached under its name."""
        code = compile_text(text, self.target.cpu, self.target.features)
        cache.store(name, code)
        return open_library(code, half)
