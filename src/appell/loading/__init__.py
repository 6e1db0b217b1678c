"""Robot descriptions: URDF, MJCF, closures beside them, built-in robots, files of compiled robots."""
