"""Small algebra over scalars: vectors, tensors, rotations, mass properties, twists and wrenches."""

from appell.algebra.angle import Angle
from appell.algebra.inertia import NO_MASS, Inertia, euler_tensor
from appell.algebra.rotation import AxisRotation, DirectionCosines, Rotation, rotation_from_quaternion
from appell.algebra.scalar import Scalar, Scalars, cos, is_zero, sin, sqrt
from appell.algebra.spatial import Twist, Wrench
from appell.algebra.vec3 import IDENTITY, ZERO, Mat3, Sym3, Vec3, X, Y, Z, acceleration_tensor, moment_of_tensor, skew

__all__ = [
    "IDENTITY", "NO_MASS", "ZERO", "Angle", "AxisRotation", "DirectionCosines", "Inertia", "Mat3", "Rotation", "Scalar",
    "Scalars", "Sym3", "Twist", "Vec3", "Wrench", "X", "Y", "Z", "acceleration_tensor", "cos", "euler_tensor", "is_zero",
    "moment_of_tensor", "rotation_from_quaternion", "sin", "skew", "sqrt",
]  # fmt: skip
