"""Equations of motion in symbols."""
