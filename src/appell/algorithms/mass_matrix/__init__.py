"""Methods of the mass matrix, one per file."""
