"""The functions of a robot on a GPU: one thread is one robot state."""
