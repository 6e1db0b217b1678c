"""Random initial states of the tree: every run ends well. The study of a thousand is marked slow."""

from __future__ import annotations

import numpy as np
import pytest
from random_impacts import study


@pytest.mark.parametrize("restitution", [1.0, 0.5])
def test_a_few_random_states(restitution):
    results = study(2, restitution)
    assert results.failures() == {}
    assert results.results["ok"].all()


@pytest.mark.slow
def test_a_thousand_random_states(tmp_path):
    results = study(1000, workers=2, store=tmp_path / "impacts.zarr")
    assert results.failures() == {}
    assert np.asarray(results.results["ok"][:]).all()
