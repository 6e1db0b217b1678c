"""The equations of motion, one algorithm a file, over any scalars."""
