"""Other libraries on the same robot. A peer that is not installed is left out."""
