"""Robots with functions: plain, compiled, and loaded from files."""
