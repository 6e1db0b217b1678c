"""The C compiler of this machine: `$CC`, `cc`, `clang`, or the one in the package `ziglang`."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from appell.compiler.targets.c.isa import InstructionSet
from appell.errors import CompileError

FLAGS = ("-std=gnu99", "-O2", "-ffp-contract=fast", "-fno-math-errno", "-fPIC", "-Wno-psabi")
"""No -ffast-math: contraction to fused multiply-add is the only freedom (docs/decisions/0004)."""

SCHEDULING = ("-fschedule-insns", "-fsched-pressure")
"""For gcc, which by itself keeps the order of the statements: up to a tenth faster (docs/decisions/0004)."""

HALVES = ("ONE_ONLY", "BATCH_ONLY")
"""What the two parts of a kernel's source (`appell.compiler.targets.c.simd`) are asked for by."""

NO_SHORT_VECTORS = ("-fno-tree-slp-vectorize",)
"""For gcc and the half for single states: pairs of numbers in vectors wait for numbers that were just stored one by one, up
to a fifth slower (docs/decisions/0009)."""

TIME_LIMIT = 600
"""Seconds after which a compiler is given up."""


@dataclass(frozen=True)
class Compiler:
    """A command that compiles C, and what tells it from others without starting it."""

    command: tuple[str, ...]
    identity: str

    @property
    def is_gcc(self) -> bool:
        return "gcc" in Path(os.path.realpath(self.command[0])).name

    @property
    def flags(self) -> tuple[str, ...]:
        """Options for every kernel."""
        return (*FLAGS, *SCHEDULING) if self.is_gcc else FLAGS

    def flags_of(self, half: str) -> tuple[str, ...]:
        """All options for one half of a kernel."""
        own = NO_SHORT_VECTORS if self.is_gcc and half == "ONE_ONLY" else ()
        return (*self.flags, *own, f"-D{half}")

    def build(self, source: str, target: InstructionSet) -> bytes:
        """The shared library of a kernel, its halves compiled side by side; CompileError has the compiler's own words."""
        compiling = [
            (*self.command, *self.flags_of(half), *target.flags, "-c", "kernel.c", "-o", f"{half}.o") for half in HALVES
        ]
        linking = (*self.command, "-shared", *(f"{half}.o" for half in HALVES), "-o", "kernel.so", "-lm")
        with tempfile.TemporaryDirectory(prefix="appell-") as folder:
            Path(folder, "kernel.c").write_text(source)
            run_together(compiling, folder)
            run_together([linking], folder)
            product = Path(folder, "kernel.so")
            if not product.exists():
                raise CompileError(f"the C compiler {self.command[0]!r} reports success but has produced nothing.")
            return product.read_bytes()


def run_together(commands: Sequence[Sequence[str]], folder: str) -> None:
    """Run compilers in a folder at the same time; the failure of one is an error."""
    try:
        running = [
            subprocess.Popen(
                command, cwd=folder, text=True, errors="replace",
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )
            for command in commands
        ]  # fmt: skip
    except OSError as error:
        raise CompileError(f"the C compiler {commands[0][0]!r} could not be run: {error}") from error
    outputs = [finished(process) for process in running]
    for command, process, output in zip(commands, running, outputs, strict=True):
        if process.returncode:
            raise CompileError(
                f"the C compiler failed (status {process.returncode}): {shlex.join(command)}\n"
                f"{output.partition(chr(10))[0] or 'It says nothing.'}\n"
                "Set CC to a working compiler, or APPELL_NATIVE=0 to do without.",
                output=output,
            )


def finished(process: subprocess.Popen[str]) -> str:
    """What a process says until it ends, or is ended when it takes too long."""
    try:
        return process.communicate(timeout=TIME_LIMIT)[0].strip()
    except subprocess.TimeoutExpired:
        process.kill()
        return f"{process.communicate()[0]}\nended after {TIME_LIMIT} s".strip()


def find_compiler() -> Compiler | None:
    """The first compiler there is, or None. `APPELL_NATIVE=0` hides them all; a `$CC` that does not exist is an error."""
    if not native_wanted():
        return None
    try:
        chosen = shlex.split(os.environ.get("CC", ""))
    except ValueError as error:
        raise CompileError(f"CC is {os.environ['CC']!r}: {error}. Set it to a C compiler or unset it.") from None
    if chosen and shutil.which(chosen[0]) is None:
        raise CompileError(f"CC is {os.environ['CC']!r}, which is no command here. Set it to a C compiler or unset it.")
    for command in (chosen, ["cc"], ["clang"], zig_command()):
        path = shutil.which(command[0]) if command else None
        if path is not None:
            real = os.path.realpath(path)
            status = os.stat(real)  # differs between versions, and costs no process
            identity = f"{real} {status.st_size} {status.st_mtime_ns} {shlex.join(command[1:])}"
            return Compiler((path, *command[1:]), identity)
    return None


def native_wanted() -> bool:
    """Whether the environment allows native code."""
    return os.environ.get("APPELL_NATIVE", "1") != "0"


def zig_command() -> list[str]:
    """The compiler that the PyPI package `ziglang` brings, or nothing."""
    spec = find_spec("ziglang")
    places = (spec.submodule_search_locations or ()) if spec else ()
    return next(([str(path), "cc"] for place in places if (path := Path(place, "zig")).exists()), [])
