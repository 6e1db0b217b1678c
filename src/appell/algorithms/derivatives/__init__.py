"""Derivatives of inverse and forward dynamics in the tangent space of the configuration."""
