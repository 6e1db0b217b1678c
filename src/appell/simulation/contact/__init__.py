"""Walls, and what happens when points of a robot hit them or rest on them."""
