"""Methods of forward dynamics, one per file."""
