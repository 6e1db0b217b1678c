"""Compile targets: LLVM for SIMD processors, CUDA."""
