"""Joint models, one file each. To add one: write the file, list the class here (CONTRIBUTING, "Add a joint")."""

from __future__ import annotations

from appell.model.joints.continuous import Continuous
from appell.model.joints.cylindrical import Cylindrical
from appell.model.joints.fixed import Fixed
from appell.model.joints.floating import Floating
from appell.model.joints.helical import Helical
from appell.model.joints.joint_model import JointModel
from appell.model.joints.planar import Planar
from appell.model.joints.prismatic import Prismatic
from appell.model.joints.revolute import Revolute
from appell.model.joints.spherical import Spherical
from appell.model.joints.translation import Translation
from appell.model.joints.universal import Universal

KINDS: dict[str, JointModel] = {
    kind.name: kind()
    for kind in (
        Revolute, Continuous, Prismatic, Fixed,
        Floating, Planar, Spherical, Universal, Cylindrical, Helical, Translation,
    )
}  # fmt: skip

__all__ = ["KINDS", "JointModel"]
