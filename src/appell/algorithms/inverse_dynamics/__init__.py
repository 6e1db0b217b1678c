"""Methods of inverse dynamics, one a file."""
