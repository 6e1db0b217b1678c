"""Methods of mass matrix, one a file."""
