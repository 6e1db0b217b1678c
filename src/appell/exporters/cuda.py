"""CUDA: `<prefix>.cuh`, a header of device functions that other kernels can call, one state a thread."""

from __future__ import annotations

import re

from appell.exporters.c import prototype, usage
from appell.exporters.c_body import definition, stack_bytes
from appell.exporters.counts import count_form
from appell.exporters.files import MARK
from appell.exporters.subject import Exported, Subject
from appell.exporters.words import comment, function_words, plain, robot_words
from appell.version import __version__

WORDS = (
    (re.compile(r"^(static )?void ", re.MULTILINE), "static __device__ void "),
    (re.compile(r"^static const ", re.MULTILINE), "static __device__ const "),
    (re.compile(r"\brestrict\b"), "__restrict__"),
)
"""What C99 and CUDA write differently."""


def texts(subject: Subject) -> dict[str, str]:
    """Names and contents of the files."""
    guard = f"{subject.prefix.upper()}_CUH"
    title = f"{plain(subject.robot.name)}: {MARK} {__version__}. Device functions for CUDA kernels."
    words = [
        *robot_words(subject.robot),
        "Use:    #include it and call its functions from a kernel, arrays in registers or local memory:",
        f"        {usage(subject.functions[0], subject.dtype)}",
    ]
    lines = [comment([title, "", *words]), f"#ifndef {guard}", f"#define {guard}", ""]
    for function in subject.functions:
        lines += [described(function, subject.dtype), in_cuda(function, subject.dtype)]
    return {f"{subject.prefix}.cuh": "\n".join([*lines, f"#endif /* {guard} */", ""])}


def described(function: Exported, dtype: str) -> str:
    return comment(function_words(function, count_form(function.form), stack_bytes(function, dtype)))


def in_cuda(function: Exported, dtype: str) -> str:
    """The definition with CUDA's words."""
    text = definition(function, prototype(function, dtype), dtype)
    for pattern, replacement in WORDS:
        text = pattern.sub(replacement, text)
    return text
