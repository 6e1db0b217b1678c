"""Former names of the identification's arguments, classes and attributes: they warn and give the same result."""

import numpy as np
import pytest

import appell
from appell import identification
from appell.robot.regressor_terms import as_terms


def test_columns_of_the_regressor_are_terms():
    robot = appell.load("planar2r")
    state = np.full((3, 2), 0.3)
    with pytest.warns(DeprecationWarning, match="terms="):
        former = robot.regressor(*state, columns=["viscous"])
    assert np.array_equal(former, robot.regressor(*state, terms=["viscous"]))


def test_classes_of_terms():
    with pytest.warns(DeprecationWarning, match="RegressorTerm"):
        assert identification.Block is identification.RegressorTerm
    with pytest.warns(DeprecationWarning, match="CustomTerm"):
        assert identification.Columns is identification.CustomTerm
    with pytest.warns(DeprecationWarning, match="nominal_values"):
        as_terms("offset")[0].own(appell.load("planar2r"))


def test_own_values_of_a_term_are_its_nominal_values():
    with pytest.warns(DeprecationWarning, match="nominal_values"):

        class Spring(identification.RegressorTerm):
            def names(self, robot):
                return ("k",)

            def columns(self, q, qd, qdd):
                return q[:, :, None]

            def own(self, robot):
                return np.array([2.0])

    assert Spring().nominal_values(None) == 2.0
