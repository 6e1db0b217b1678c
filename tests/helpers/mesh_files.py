"""Mesh files that tests make themselves, for robot descriptions whose own are not here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from helpers.shared_data import shared


def write_meshes(name: str, folder: Path, rgb: tuple[int, int, int] = (255, 0, 255)) -> Path:
    """A copy of a shared URDF with a capsule for each of its meshes, in the folder three below `folder`; its path.

    Collada files have one colour, STL files none, so they get the colour of the description.
    """
    trimesh = pytest.importorskip("trimesh")
    pytest.importorskip("collada")
    place = folder / "a" / "b" / name
    text = shared(f"robots/{name}.urdf").read_text()
    text = re.sub(r"<material[^>]*>.*?</material>|<material[^>]*/>", "", text, flags=re.DOTALL)
    capsule = trimesh.creation.capsule(height=0.12, radius=0.05, count=[12, 12])
    material = trimesh.visual.material.PBRMaterial(baseColorFactor=[*rgb, 255])
    coloured = trimesh.Trimesh(capsule.vertices, capsule.faces, visual=trimesh.visual.TextureVisuals(material=material))
    for address in sorted(set(re.findall(r'filename="([^"]+)"', text))):
        path = place / address.removeprefix("package://")
        path.parent.mkdir(parents=True, exist_ok=True)
        collada = path.suffix == ".dae"
        path.write_bytes(
            trimesh.exchange.dae.export_collada([coloured]) if collada else trimesh.exchange.stl.export_stl(capsule)
        )
    if "STL" in text:  # no Collada: the colour of the description
        colour = " ".join(str(channel / 255) for channel in rgb)
        tag = f'<material name="own"><color rgba="{colour} 1"/></material></visual>'
        text = text.replace("</visual>", tag)
    (place / f"{name}.urdf").write_text(text)
    return place / f"{name}.urdf"
