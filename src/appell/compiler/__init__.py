"""From algorithms to numbers: trace, count, evaluate."""
