"""Beside the library: benchmarks against peers, and the tables and figures of the papers."""
