"""Rotations as products of planar rotations.

A `Rotation` is a sequence of rotations about coordinate axes, each given by its cosine and sine, and maps the components of
a vector from the rotated frame to the original frame. One such factor costs 4 products and 2 sums, so a joint's
`Rx(alpha) Rz(theta)` costs 8 and 4 and its matrix is never formed (Mata 2002, section 4.1).
"""

from __future__ import annotations

from typing import NamedTuple

from appell.algebra.angle import Angle
from appell.algebra.scalar import Scalar
from appell.algebra.vec3 import IDENTITY, Mat3, Sym3, Vec3


class AxisRotation(NamedTuple):
    """A rotation about coordinate axis 0, 1 or 2 by the angle with this cosine and sine."""

    axis: int
    cos: Scalar
    sin: Scalar

    @classmethod
    def by(cls, axis: int, angle: Angle) -> AxisRotation:
        """The rotation about a coordinate axis by a constant angle."""
        return cls(axis, angle.cos, angle.sin)

    @property
    def T(self) -> AxisRotation:
        return AxisRotation(self.axis, self.cos, -self.sin)

    def __matmul__(self, v: Vec3) -> Vec3:
        return _ROTATE_VECTOR[self.axis](self.cos, self.sin, v)

    def conjugate(self, A: Sym3) -> Sym3:
        """R A R^T, with the double products shared: 10 products and 9 sums."""
        uu, uv, vv, ua, va, aa = _BLOCK[self.axis]
        c, s = self.cos, self.sin
        difference, off = getattr(A, uu) - getattr(A, vv), getattr(A, uv)
        sc, ss = s * c, s * s
        shift = ss * difference + sc * (off + off)
        rotated = {
            uu: getattr(A, uu) - shift,
            vv: getattr(A, vv) + shift,
            uv: off + (sc * difference - ss * (off + off)),
            ua: c * getattr(A, ua) - s * getattr(A, va),
            va: s * getattr(A, ua) + c * getattr(A, va),
            aa: getattr(A, aa),
        }
        return Sym3(*(rotated[entry] for entry in Sym3.__slots__))


class DirectionCosines(NamedTuple):
    """A rotation by its nine direction cosines, columns are the axes of the rotated frame."""

    matrix: Mat3

    @property
    def T(self) -> DirectionCosines:
        return DirectionCosines(self.matrix.T)

    def __matmul__(self, v: Vec3) -> Vec3:
        return self.matrix @ v

    def conjugate(self, A: Sym3) -> Sym3:
        R = self.matrix
        return R.dot(R.dot(A.full()).T).upper()


class Rotation:
    """A product of rotations from left to right: `Rotation(Rx, Rz)` is Rx Rz."""

    __slots__ = ("factors",)

    def __init__(self, *factors: AxisRotation | DirectionCosines) -> None:
        self.factors = factors

    def __mul__(self, other: Rotation) -> Rotation:
        return Rotation(*self.factors, *other.factors)

    @property
    def T(self) -> Rotation:
        """The inverse rotation."""
        return Rotation(*(factor.T for factor in reversed(self.factors)))

    def __matmul__(self, v: Vec3) -> Vec3:
        """R v."""
        for factor in reversed(self.factors):
            v = factor @ v
        return v

    def conjugate(self, A: Sym3) -> Sym3:
        """R A R^T."""
        for factor in reversed(self.factors):
            A = factor.conjugate(A)
        return A

    def conjugate_general(self, A: Mat3) -> Mat3:
        """R A R^T for a tensor without symmetry."""
        return self.rotate_columns(self.rotate_columns(A).T).T

    def rotate_columns(self, A: Mat3) -> Mat3:
        """R A."""
        return Mat3.from_columns(*(self @ column for column in A.columns))

    def matrix(self) -> Mat3:
        """The nine direction cosines; columns are the axes of the rotated frame."""
        return self.rotate_columns(IDENTITY)


def _about_x(c: Scalar, s: Scalar, v: Vec3) -> Vec3:
    return Vec3(v.x, c * v.y - s * v.z, s * v.y + c * v.z)


def _about_y(c: Scalar, s: Scalar, v: Vec3) -> Vec3:
    return Vec3(c * v.x + s * v.z, v.y, c * v.z - s * v.x)


def _about_z(c: Scalar, s: Scalar, v: Vec3) -> Vec3:
    return Vec3(c * v.x - s * v.y, s * v.x + c * v.y, v.z)


_ROTATE_VECTOR = (_about_x, _about_y, _about_z)

# Names of a symmetric tensor's entries seen from the axis of rotation: with u, v the other two axes in cyclic order,
# (uu, uv, vv) is the planar block, (ua, va) the column of the axis, and aa stays.
_BLOCK = (
    ("yy", "yz", "zz", "xy", "xz", "xx"),
    ("zz", "xz", "xx", "yz", "xy", "yy"),
    ("xx", "xy", "yy", "xz", "yz", "zz"),
)


def rotation_from_quaternion(x: Scalar, y: Scalar, z: Scalar, w: Scalar) -> Rotation:
    """The rotation of a unit quaternion."""
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    return Rotation(
        DirectionCosines(Mat3(
            1.0 - (yy + zz), xy - wz, xz + wy,
            xy + wz, 1.0 - (xx + zz), yz - wx,
            xz - wy, yz + wx, 1.0 - (xx + yy),
        ))
    )  # fmt: skip
