"""Robots with closed loops: a tree of bodies, closures that join its ends, and dynamics in independent speeds."""
