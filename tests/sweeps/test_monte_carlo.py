"""Monte Carlo studies: run k is run k, failures are data, statistics are those of all runs at once."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.cli import main
from appell.errors import SimulationError
from appell.sweeps import Execution, Labels, MonteCarlo, Sweep
from appell.sweeps.runs import code_digest

RUNS = 50


def draw(rng: np.random.Generator) -> dict:
    return {"q0": rng.normal(size=2), "mass": rng.uniform(0.5, 2.0)}


def fall(robot: appell.Robot, q0: np.ndarray, mass: float) -> dict:
    if mass > 1.8:
        raise SimulationError(f"too heavy: {mass:.3f}")
    return {"weight": mass * 9.81, "tau": mass * robot.gravity(q0)}


def fall_in_batches(dyn, q0: np.ndarray, mass: np.ndarray) -> dict:
    if (mass > 1.8).any():
        raise SimulationError("too heavy")
    path = appell.rollout(dyn, q0, 0 * q0, steps=20, dt=1e-3, save_every=5)
    return {"q": path.q, "reach": np.abs(path.q).max(axis=(1, 2))}


def arm() -> appell.Robot:
    return appell.load("planar2r")


def expected_draws() -> list[dict]:
    return [draw(np.random.default_rng(np.random.SeedSequence(7, spawn_key=(k,)))) for k in range(RUNS)]


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("batch", [False, True])
def test_run_k_is_the_same_whatever_the_chunks(tmp_path: Path, stored: bool, batch: bool) -> None:
    if stored:
        pytest.importorskip("zarr")
    robot, run = appell.compile(arm()), fall_in_batches if batch else fall
    studies = []
    for chunk, threads in ((3, 1), (16, 4), (RUNS, 1)):
        store = tmp_path / f"{chunk}.zarr" if stored else None
        studies.append(
            appell.monte_carlo(robot, draw, run, RUNS, store, seed=7, batch=batch, execution=Execution(chunk, threads))
        )
    for other in studies[1:]:
        for name, values in studies[0].arrays.items():
            got, want = np.asarray(other.arrays[name][:]), np.asarray(values[:])
            assert np.array_equal(got, want, equal_nan=name != "message"), name
    draws = expected_draws()
    assert_close(np.asarray(studies[0].drawn["q0"][:]), np.stack([each["q0"] for each in draws]))
    heavy = [k for k, each in enumerate(draws) if each["mass"] > 1.8]
    assert heavy
    assert [*studies[0].failures()] == heavy
    assert studies[0].failed == len(heavy)
    assert studies[0].failures()[heavy[0]].startswith("SimulationError: too heavy")
    first = next(iter(studies[0].results.values()))
    assert np.isnan(np.asarray(first[:])[heavy]).all()


def test_robots_of_files_travel_with_their_control_laws(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    appell.compile(arm(), dtype="float32").save(tmp_path / "arm.appell", rollouts=["pd"])
    dyn = appell.load_compiled(tmp_path / "arm.appell", layout="rows", threads=2)

    def hold(dyn, q0, mass):
        path = appell.rollout(dyn, 0 * q0, 0 * q0, {"q": q0}, steps=10, dt=1e-3, law="pd", gains={"kp": 5.0, "kd": 1.0})
        return {"q": path.q}

    here, stored = (appell.monte_carlo(dyn, draw, hold, 20, store, batch=True) for store in (None, tmp_path / "s.zarr"))
    assert here.failed == 0
    assert np.array_equal(stored.results["q"][:], here.results["q"])


def test_statistics_are_those_of_all_runs(tmp_path: Path, monkeypatch) -> None:
    study = appell.monte_carlo(arm(), draw, fall, 400, seed=1, execution=Execution(60))
    good = np.asarray(study.arrays["message"]) == ""
    tau = study.results["tau"][good]
    levels = (0.1, 0.5, 0.75)
    whole = study.quantiles("tau", levels)
    monkeypatch.setattr("appell.sweeps.study.MOST_BYTES", 400 * 8)  # one column at a time
    assert_close(study.quantiles("tau", levels), whole)
    assert_close(whole, np.quantile(tau, levels, axis=0))
    row = dict(zip(study.table().columns, study.table().rows[1], strict=True))
    assert_close([row["mean"], row["deviation"]], [tau.mean(), tau.std(ddof=1)])
    assert (row["smallest"], row["largest"]) == (tau.min(), tau.max())
    assert f"{400 - good.sum()} failed" in str(study.table())
    study.plot(tmp_path / "bands.png")
    assert (tmp_path / "bands.png").read_bytes().startswith(b"\x89PNG")


def test_results_that_are_not_finite_are_failures() -> None:
    def run(robot, x):
        return {"y": 1.0 / x if x > 0 else np.inf}

    study = appell.monte_carlo(arm(), lambda rng: {"x": rng.normal()}, run, 20)
    negative = np.flatnonzero(study.drawn["x"] <= 0)
    assert study.failures() == {int(k): "y is not finite" for k in negative}
    assert study.quantiles("y").max() < np.inf


def test_stores_are_continued_and_not_mixed(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    path, labels = tmp_path / "s.zarr", Labels(dims={"tau": ["joint"]})
    first = appell.monte_carlo(arm(), draw, fall, RUNS, path, seed=7, labels=labels)
    before = {file.name: file.read_bytes() for file in path.rglob("c.*")}
    (path / "tau" / "c.2.0").unlink()
    (path / "message" / "c.2").unlink()
    assert {k for k, text in MonteCarlo.open(path).failures().items() if text == "not finished"} == {*range(16, 24)}
    assert np.isfinite(MonteCarlo.open(path).quantiles("tau")).all()
    shares: list[float] = []
    execution = Execution(progress=shares.append)
    appell.monte_carlo(arm(), draw, fall, RUNS, path, seed=7, labels=labels, execution=execution)
    assert shares == [1.0]
    assert {file.name: file.read_bytes() for file in path.rglob("c.*")} == before
    opened = MonteCarlo.open(path)
    assert opened.failures() == first.failures()
    data = opened.to_xarray()
    assert data["tau"].dims == ("run", "joint")
    assert data.attrs["seed"] == 7
    assert isinstance(data, xarray.Dataset)
    with pytest.raises(appell.ArgumentError, match="store of a Monte Carlo study"):
        Sweep.open(path)
    changes = {
        "seed": {"seed": 8}, "count": {"n": RUNS + 1}, "chunk": {"execution": Execution(5)},
        "run": {"run": lambda robot, q0, mass: fall(robot, q0, mass)},
        "robot_digest": {"robot": arm().with_gravity((0, 0, -1.6))}, "draw": {"draw": lambda rng: draw(rng)},
    }  # fmt: skip
    for field, change in changes.items():
        arguments = {"robot": arm(), "draw": draw, "run": fall, "n": RUNS, "seed": 7} | change
        with pytest.raises(appell.ArgumentError, match=f"was made with {field} = "):
            appell.monte_carlo(store=path, **arguments)


def test_a_function_is_its_text_and_what_it_encloses() -> None:
    def made(x):
        return lambda rng: {"x": x}

    assert code_digest(made(1)) == code_digest(made(1)) != code_digest(made(2))
    assert code_digest(partial(draw, a=1)) != code_digest(partial(draw, a=2)) != code_digest(draw)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda robot, q0, mass: 1 / 0, "the first 10 runs failed, the first of them with: ZeroDivisionError"),
        (lambda robot, q0, mass: {"message": 1.0}, "name of the messages"),
        (lambda robot, q0, mass: {"q0": q0}, "q0 is the name of a draw and of a result"),
        (lambda robot, q0, mass: {"y": np.zeros(2 if mass > 1 else 3)}, "y has shape"),
    ],
)
def test_runs_that_make_no_sense(run, message: str) -> None:
    with pytest.raises((appell.ArgumentError, ValueError), match=message):
        appell.monte_carlo(arm(), draw, run, RUNS, seed=7, execution=Execution(1))


def test_dims_that_do_not_fit() -> None:
    with pytest.raises(appell.ArgumentError, match=r"dims of tau are \('a', 'b'\), expected 1 names"):
        appell.monte_carlo(arm(), draw, fall, RUNS, seed=7, labels=Labels({"tau": ["a", "b"]}))


def test_defects_of_a_run_are_no_data() -> None:
    with pytest.raises(TypeError):
        appell.monte_carlo(arm(), draw, lambda robot: {}, RUNS)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture, words = tmp_path / "bands.png", ["--runs", "30", "--duration", "1", "--kp", "400", "--kd", "40"]
    assert main(["montecarlo", "planar2r", *words, "--plot", str(picture), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    rows = {row[0]: row for row in data["rows"]}
    assert (data["runs"], rows["error"][1]) == (30, "200")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert main(["montecarlo", "planar2r", *words, "--mass-spread", "0", "--json"]) == 0
    exact = {row[0]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert exact["worst_error"][2] < 0.1 * rows["worst_error"][2]  # the rest is that torques are constant over a period
