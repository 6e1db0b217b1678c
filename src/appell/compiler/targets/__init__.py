"""Compile targets: C for SIMD processors, CUDA."""
