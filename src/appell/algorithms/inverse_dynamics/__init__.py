"""Methods of inverse dynamics, one per file."""
