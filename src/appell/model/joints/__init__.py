"""Joint kinds, one file each. To add one: write the file, list the class here (CONTRIBUTING, "Add a joint")."""

from __future__ import annotations

from appell.model.joints.continuous import Continuous
from appell.model.joints.fixed import Fixed
from appell.model.joints.kind import JointKind, Twist
from appell.model.joints.prismatic import Prismatic
from appell.model.joints.revolute import Revolute

KINDS: dict[str, JointKind] = {kind.name: kind() for kind in (Revolute, Continuous, Prismatic, Fixed)}

__all__ = ["KINDS", "JointKind", "Twist"]
