"""Rolled kernels: the step of a recursion is traced once per kind of link and looped over the links.

Straight-line code grows with the robot: the compiler needs more than linear time for it and the processor has to read all
of it. A rolled kernel is as long as one step (docs/decisions/0005). It computes the same numbers to rounding.
"""
