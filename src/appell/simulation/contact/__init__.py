"""Impacts and contact between points of a robot and surfaces."""
