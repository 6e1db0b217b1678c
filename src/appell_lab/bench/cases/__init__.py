"""What is measured: a case is a file here with a function `run(settings)` that gives tables."""
