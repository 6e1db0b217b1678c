"""Random initial states of the tree: every run ends well. The study of a thousand is marked slow."""

from __future__ import annotations

import pytest
from random_impacts import run_one, study


@pytest.mark.parametrize("restitution", [1.0, 0.5])
def test_a_few_random_states(restitution):
    for seed in range(3):
        result = run_one(seed, restitution)
        assert result.ok, result


@pytest.mark.slow
def test_a_thousand_random_states():
    results = study(range(1000), restitution=1.0)
    assert len(results) == 1000
    assert all(result.ok for result in results), [result for result in results if not result.ok]
