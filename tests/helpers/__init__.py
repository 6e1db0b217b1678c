"""Modules that tests share: robots and states, comparison of numbers, reference data, peers and test programs."""
