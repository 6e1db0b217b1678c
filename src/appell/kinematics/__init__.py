"""Inverse kinematics and reference trajectories."""
