"""Files of compiled robots: the operations of their functions as checked JSON."""
