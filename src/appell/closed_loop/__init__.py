"""Robots with closed loops: a spanning tree, loop closures, and dynamics in independent velocities."""
