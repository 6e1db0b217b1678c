"""Methods of forward dynamics, one a file."""
