"""Robot descriptions: URDF, MJCF, loop closures, built-in robots, files of compiled robots."""
