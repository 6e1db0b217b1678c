"""LLVM in this process: IR to object code, object code to addresses. llvmlite is loaded when it is first needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from itertools import count
from threading import Lock
from typing import Any

from appell.errors import CompileError

NUMBERS = count()
ORDERED = Lock()


@lru_cache(maxsize=1)
def binding() -> Any:
    """llvmlite, ready for this processor."""
    try:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    except (ImportError, OSError, RuntimeError) as error:
        raise CompileError(f"LLVM is not usable here ({error}). Install it with: pip install llvmlite") from error
    return llvm


@lru_cache(maxsize=8)
def machine(cpu: str, features: str) -> Any:
    """Generates code for a processor."""
    llvm = binding()
    try:
        return llvm.Target.from_default_triple().create_target_machine(
            cpu, features, opt=2, reloc="pic", codemodel="small" if is_linked_in_one_piece() else "jitdefault"
        )
    except RuntimeError as error:
        raise CompileError(f"LLVM has no code generator for this processor: {error}") from error


def is_linked_in_one_piece() -> bool:
    """Whether the linker places code and constants of an object side by side, with stubs for functions farther away.

    Then constants can be operands of instructions: a tenth fewer instructions than with addresses of 64 bits
    (docs/decisions/0018). LLVM's older linker places them anywhere, and ends the process where they are too far apart.
    """
    triple = binding().get_default_triple()
    return triple.startswith("x86_64") and "windows" not in triple


def compile_text(text: str, cpu: str, features: str) -> bytes:
    """Object code of a module."""
    llvm, generator = binding(), machine(cpu, features)
    with llvm.create_context() as context, parsed(text, context) as module:
        module.triple, module.data_layout = generator.triple, str(generator.target_data)
        builder = llvm.create_pass_builder(generator, llvm.create_pipeline_tuning_options(speed_level=2))
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.run(module, builder)
        with instructions_in_order():
            return generator.emit_object(module)


@contextmanager
def instructions_in_order() -> Iterator[None]:
    """Code keeps the order of its operations, which is chosen for the fewest values alive (docs/decisions/0018).

    LLVM has this as an option of the process alone: it is set while code is generated.
    """
    with ORDERED:
        for option in ("-enable-misched=0", "-disable-post-ra=1"):
            binding().set_option("appell", option)
        try:
            yield
        finally:
            for option in ("-enable-misched=1", "-disable-post-ra=0"):
                binding().set_option("appell", option)


def parsed(text: str, context: Any) -> Any:
    """The module of a text."""
    try:
        return binding().parse_assembly(text, context)
    except RuntimeError as error:
        raise CompileError(f"LLVM does not accept a kernel: {error}") from error


@lru_cache(maxsize=1)
def linker() -> Any:
    return binding().create_lljit_compiler(use_jit_link=is_linked_in_one_piece())


def link(code: bytes, symbols: Iterable[str], imports: Mapping[str, int] | None = None) -> Any:
    """Object code in memory: addresses by symbol. It stays there as long as what is returned.

    `imports` are addresses of functions that the code calls.
    """
    library = binding().JITLibraryBuilder().add_object_img(code).add_current_process()
    for symbol in symbols:
        library.export_symbol(symbol)
    for name, address in (imports or {}).items():
        library.import_symbol(name, address)
    try:
        return library.link(linker(), f"appell{next(NUMBERS)}")
    except RuntimeError as error:
        raise CompileError(f"a compiled kernel cannot be linked: {error}") from error
