"""SIMD C: one lane is one state."""
