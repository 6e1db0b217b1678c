"""Links of SDF: mass properties with the defaults of the format, and shapes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from appell.loading.sdf_frames import as_pose, matrix
from appell.loading.xml import ProblemLog, XmlNode
from appell.model.body import Body, Geometry, Six, Visual, rotated_inertia
from appell.model.pose import triple


def read_link(name: str, link: XmlNode) -> Body:
    """The body of a link."""
    quiet = replace(link.child("inertial"), notes=ProblemLog(link.notes.file))
    if not quiet:
        link.note("default", "the link has no <inertial>; the format takes 1 kg and 1 kg m²", "Give mass and inertia.")
    if link.child("gravity").words in ("false", "0"):
        link.note("ignored", "gravity acts on the link here", "Leave <gravity> out.")
    pose = matrix(quiet.child("pose"))
    mass = quiet.child("mass").content((1.0,))[0]
    entries = zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0), strict=True)
    xx, xy, xz, yy, yz, zz = (quiet.child("inertia").child(tag).content((value,))[0] for tag, value in entries)
    inertia: Six = xx, xy, xz, yy, yz, zz
    if not np.array_equal(pose[:3, :3], np.eye(3)):
        inertia = rotated_inertia(pose[:3, :3], np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    defect = "; ".join(problem.what for problem in quiet.notes.problems)
    if quiet.text("auto") in ("true", "1"):
        defect = "they are computed by the simulator (auto); robot.with_estimated_inertia does the same"
    body = Body(name, mass, triple(pose[:3, 3]), inertia)
    if defect:
        body = Body(name, mass_defect=defect)
    visuals = tuple(Visual(*shape, rgba=_colour(node)) for node, shape in _shapes(link, "visual"))
    collisions = tuple(Geometry(*shape) for _, shape in _shapes(link, "collision"))
    return replace(body, visuals=visuals, collisions=collisions, line=link.line)


SIZES = {
    "box": (("size", 3),),
    "cylinder": (("radius", 1), ("length", 1)),
    "sphere": (("radius", 1),),
    "capsule": (("radius", 1), ("length", 1)),
    "mesh": (("scale", 3),),
}


def _shapes(link: XmlNode, tag: str) -> Iterator[tuple[XmlNode, tuple]]:
    """Kind, size, pose and mesh of each shape that can be read, with its element."""
    for node in link.children(tag):
        quiet = replace(node, notes=ProblemLog(node.notes.file))
        shape = next((shape for shape in quiet.child("geometry").children() if shape.tag in SIZES), None)
        if shape is not None:
            sizes = (shape.child(name).content((1.0,) * count) for name, count in SIZES[shape.tag])
            found = shape.tag, tuple(x for size in sizes for x in size), as_pose(matrix(quiet.child("pose")))
            if not quiet.notes.problems:
                yield node, (*found, shape.child("uri").words)
                continue
        what = quiet.notes.problems[0].what if quiet.notes.problems else f"<{tag}> has no known shape"
        kind = "drawing" if tag == "visual" else "collision"
        node.note(kind, what, f"Shapes are {', '.join(SIZES)}; the shape is left out.")


def _colour(node: XmlNode) -> tuple[float, float, float, float] | None:
    diffuse = replace(node, notes=ProblemLog("")).child("material").child("diffuse")
    if not diffuse:
        return None
    r, g, b, a = diffuse.content((0.7, 0.7, 0.7, 1.0))
    return r, g, b, a
