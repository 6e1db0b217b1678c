"""Identification: from recorded motion to the parameters of a robot, with their uncertainty (docs/theory/identification.md)."""
