"""Sweeps on a real scheduler with two workers, each a process: whatever is killed, the same call goes on to the same bytes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from random import Random

import numpy as np
import pytest
from helpers.dask_cluster import Cluster, environment, running_cluster, wait_until

import appell
from appell.sweeps import Execution, States, random_states

distributed = pytest.importorskip("distributed")
pytest.importorskip("zarr")

CHUNK = 2048


def command(store: Path, chunks: int, address: str | None) -> list[str]:
    words = (
        f"sweep puma560 --functions inverse_dynamics --random {chunks * CHUNK} --seed 5 --chunk {CHUNK} --dtype float32"
    )
    scheduler = ["--scheduler", address] if address else ["--threads", "2"]
    return [sys.executable, "-m", "appell", *words.split(), "--store", str(store), *scheduler]


def chunk_files(store: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in store.glob("inverse_dynamics/c.*")}


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_kills_at_random_moments(tmp_path: Path, kills: int) -> None:
    chunks, random = 60 * (kills + 1), Random(kills)
    store, whole = tmp_path / "killed.zarr", tmp_path / "whole.zarr"
    victims = cycle(["worker", "scheduler", "client"])
    with running_cluster(tmp_path) as cluster:
        client = None
        for k in range(kills):
            client = run_client(client, command(store, chunks, cluster.address), tmp_path)
            limit = random.randint(60 * k + 1, 60 * (k + 1))
            assert supervise(cluster, client, lambda limit=limit: finished(store) >= limit) is None, log(tmp_path)
            kill(next(victims), client, cluster, random)
            assert finished(store) < chunks, "killed too late to show anything"
        client = run_client(client, command(store, chunks, cluster.address), tmp_path)
        assert supervise(cluster, client, lambda: False) == 0, log(tmp_path)
    subprocess.run(command(whole, chunks, None), check=True, env=environment(), capture_output=True)
    assert len(chunk_files(store)) == chunks
    assert chunk_files(store) == chunk_files(whole)
    assert not list(store.rglob("*.partial"))


def finished(store: Path) -> int:
    return sum(1 for _ in store.glob("inverse_dynamics/c.*"))


def log(folder: Path) -> str:
    return (folder / "client.log").read_text()


def supervise(cluster: Cluster, client: subprocess.Popen, condition: Callable[[], bool]) -> int | None:
    """Restart what ends of the cluster until a condition holds or the client ends; its exit code."""

    def over() -> bool:
        cluster.start()
        return condition() or client.poll() is not None

    wait_until(over)
    return client.poll()


def run_client(client: subprocess.Popen | None, words: list[str], folder: Path) -> subprocess.Popen:
    """The client, started again if it has ended."""
    if client is not None and client.poll() is None:
        return client
    with open(folder / "client.log", "ab") as log:
        return subprocess.Popen(words, env=environment(), cwd=folder, stdout=log, stderr=log)


def kill(victim: str, client: subprocess.Popen, cluster: Cluster, random: Random) -> None:
    """Kill one process; without its scheduler the client ends by itself."""
    if victim == "client":
        client.kill()
        client.wait()
    elif victim == "worker":
        cluster.kill(f"worker {random.randrange(cluster.workers)}")
    else:
        cluster.kill("scheduler")
        assert client.wait(60) == 1


def require_equal_studies(folder: Path, client) -> None:
    """A compiled robot that travels as its file gives the same runs as in this process, failures included."""

    def draw(rng):
        return {"scale": rng.uniform(0.5, 1.5, 2)}

    def fall(dyn, scale):
        import appell

        if (scale > 1.45).any():
            raise appell.SimulationError("too heavy")
        masses = dyn.parameters * scale.repeat(10, axis=1)
        path = appell.rollout(dyn, 0 * scale, 0 * scale, steps=20, dt=1e-3, save_every=10, parameters=masses)
        return {"q": path.q}

    dyn = appell.compile(appell.load("planar2r"), parameters="runtime")
    options = {"batch": True, "seed": 3, "execution": Execution(16)}
    spread = appell.monte_carlo(dyn, draw, fall, 100, folder / "spread.zarr", client, **options)
    here = appell.monte_carlo(dyn, draw, fall, 100, **options)
    assert np.array_equal(spread.results["q"][:], here.results["q"], equal_nan=True)
    assert spread.failures() == here.failures() != {}


def test_a_client_its_errors_and_encryption(tmp_path: Path) -> None:
    """One cluster with TLS: sources of states that travel, a worker's error, a lost scheduler."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl on this machine")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    words = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -keyout {key} -out {certificate}"
    subprocess.run(words.split(), check=True, capture_output=True)
    options = ("--tls-ca-file", certificate, "--tls-cert", certificate, "--tls-key", key)
    security = distributed.Security(
        tls_ca_file=str(certificate), tls_client_cert=str(certificate), tls_client_key=str(key), require_encryption=True
    )
    robot = appell.load("planar2r")
    arrays = States(*(random_states(robot, 1000).part(0, 1000).q for _ in range(3)))
    import dask.array

    lazy = dask.array.random.default_rng(3).normal(size=(1000, 6), chunks=(170, 6))
    with (
        running_cluster(tmp_path, options=tuple(map(str, options)), scheme="tls") as cluster,
        distributed.Client(cluster.address, security=security, timeout="30s") as client,
    ):
        for name, states in (("arrays", arrays), ("dask", lazy), ("random", random_states(robot, 1000))):
            made = appell.sweep(robot, ["gravity"], states, tmp_path / f"{name}.zarr", client, execution=Execution(130))
            expected = appell.sweep(robot, ["gravity"], states).results["gravity"]
            assert (made.results["gravity"][:] == expected).all()
            assert made.work.kernels > 0.0
        require_equal_studies(tmp_path, client)
        arrays.q[700, 1] = float("inf")
        with pytest.raises(appell.ArgumentError, match=r"in states 650 to 779: q\[\(50, 1\)\] is inf"):
            appell.sweep(robot, ["gravity"], arrays, tmp_path / "bad.zarr", client, execution=Execution(130))
        store = tmp_path / "elsewhere.zarr"
        appell.sweep(robot, ["gravity"], random_states(robot, 1000), store, execution=Execution(100))
        (store / "robot.appell").unlink()
        (store / "gravity" / "c.3.0").unlink()
        with pytest.raises(appell.AppellError, match=r"the worker on .* does not see"):
            appell.sweep(robot, ["gravity"], random_states(robot, 1000), store, client, execution=Execution(100))
