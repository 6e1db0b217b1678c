"""The C compiler of this machine: `$CC`, `cc`, `clang`, or the one in the package `ziglang`."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from appell.compiler.isa import InstructionSet
from appell.errors import CompileError

FLAGS = ("-std=gnu99", "-O2", "-ffp-contract=fast", "-fno-math-errno", "-fPIC", "-shared", "-Wno-psabi")
"""No -ffast-math: contraction to fused multiply-add is the only freedom (docs/decisions/0004)."""

TIME_LIMIT = 600
"""Seconds after which a compiler is given up."""


@dataclass(frozen=True)
class Compiler:
    """A command that compiles C, and what tells it from others without starting it."""

    command: tuple[str, ...]
    identity: str

    def build(self, source: str, target: InstructionSet) -> bytes:
        """The shared library of a source; CompileError carries the compiler's own words."""
        with tempfile.TemporaryDirectory(prefix="appell-") as folder:
            path, product = Path(folder, "kernel.c"), Path(folder, "kernel.so")
            path.write_text(source)
            command = [*self.command, *FLAGS, *target.flags, str(path), "-o", str(product), "-lm"]
            try:
                done = subprocess.run(
                    command,
                    capture_output=True,
                    text=True,
                    errors="replace",
                    stdin=subprocess.DEVNULL,
                    timeout=TIME_LIMIT,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                raise CompileError(f"the C compiler {self.command[0]!r} could not be run: {error}") from error
            if done.returncode or not product.exists():
                output = (done.stderr + done.stdout).strip()
                first = output.splitlines()[0] if output else "no message"
                raise CompileError(
                    f"the C compiler failed (status {done.returncode}): {shlex.join(command)}\n{first}\n"
                    "Set CC to a working compiler, or APPELL_NATIVE=0 to do without.",
                    output=output,
                )
            return product.read_bytes()


def find_compiler() -> Compiler | None:
    """The first compiler there is, or None. `APPELL_NATIVE=0` hides them all; a `$CC` that does not exist is an error."""
    if not native_wanted():
        return None
    chosen = shlex.split(os.environ.get("CC", ""))
    if chosen and shutil.which(chosen[0]) is None:
        raise CompileError(f"CC is {os.environ['CC']!r}, which is no command here. Set it to a C compiler or unset it.")
    for command in (chosen, ["cc"], ["clang"], zig_command()):
        path = shutil.which(command[0]) if command else None
        if path is not None:
            return Compiler((path, *command[1:]), identity(path, command[1:]))
    return None


def native_wanted() -> bool:
    """Whether the environment allows native code."""
    return os.environ.get("APPELL_NATIVE", "1") != "0"


def zig_command() -> list[str]:
    """The compiler that the PyPI package `ziglang` brings, or nothing."""
    spec = find_spec("ziglang")
    places = (spec.submodule_search_locations or ()) if spec else ()
    return next(([str(path), "cc"] for place in places if (path := Path(place, "zig")).exists()), [])


def identity(path: str, arguments: list[str]) -> str:
    """File, size and time of change: differs between versions and costs no process."""
    real = os.path.realpath(path)
    status = os.stat(real)
    return f"{real} {status.st_size} {status.st_mtime_ns} {shlex.join(arguments)}"
