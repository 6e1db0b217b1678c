"""Vectors and 3x3 tensors over scalars.

Three classes: `Vec3`, `Mat3` (nine entries by rows) and `Sym3` (six entries). All are immutable. Operations are written
out so that the number of products and sums is the one the papers count; zeros and ones vanish when a graph is traced.
"""

from __future__ import annotations

from collections.abc import Iterator

from appell.algebra.scalar import Scalar


class Vec3:
    """A vector [x, y, z]; `a @ b` is the scalar product and `a.cross(b)` the vector product."""

    __slots__ = ("x", "y", "z")

    def __init__(self, x: Scalar, y: Scalar, z: Scalar) -> None:
        self.x, self.y, self.z = x, y, z

    def __iter__(self) -> Iterator[Scalar]:
        return iter((self.x, self.y, self.z))

    def __repr__(self) -> str:
        return f"Vec3({self.x}, {self.y}, {self.z})"

    def __add__(self, other: Vec3) -> Vec3:
        return Vec3(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Vec3) -> Vec3:
        return Vec3(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self) -> Vec3:
        return Vec3(-self.x, -self.y, -self.z)

    def __mul__(self, factor: Scalar) -> Vec3:
        return Vec3(self.x * factor, self.y * factor, self.z * factor)

    def __matmul__(self, other: Vec3) -> Scalar:
        return self.x * other.x + self.y * other.y + self.z * other.z

    def cross(self, other: Vec3) -> Vec3:
        return Vec3(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )

    def outer(self, other: Vec3) -> Mat3:
        return Mat3(*(a * b for a in self for b in other))


ZERO = Vec3(0.0, 0.0, 0.0)
X = Vec3(1.0, 0.0, 0.0)
Y = Vec3(0.0, 1.0, 0.0)
Z = Vec3(0.0, 0.0, 1.0)


class Mat3:
    """A 3x3 tensor, entries by rows."""

    __slots__ = ("xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz")

    def __init__(self, xx, xy, xz, yx, yy, yz, zx, zy, zz) -> None:
        self.xx, self.xy, self.xz = xx, xy, xz
        self.yx, self.yy, self.yz = yx, yy, yz
        self.zx, self.zy, self.zz = zx, zy, zz

    def __iter__(self) -> Iterator[Scalar]:
        return iter((self.xx, self.xy, self.xz, self.yx, self.yy, self.yz, self.zx, self.zy, self.zz))

    def __add__(self, other: Mat3) -> Mat3:
        return Mat3(*(a + b for a, b in zip(self, other, strict=True)))

    def __sub__(self, other: Mat3) -> Mat3:
        return Mat3(*(a - b for a, b in zip(self, other, strict=True)))

    def __mul__(self, factor: Scalar) -> Mat3:
        return Mat3(*(a * factor for a in self))

    def __matmul__(self, v: Vec3) -> Vec3:
        return Vec3(
            self.xx * v.x + self.xy * v.y + self.xz * v.z,
            self.yx * v.x + self.yy * v.y + self.yz * v.z,
            self.zx * v.x + self.zy * v.y + self.zz * v.z,
        )

    @property
    def T(self) -> Mat3:
        return Mat3(self.xx, self.yx, self.zx, self.xy, self.yy, self.zy, self.xz, self.yz, self.zz)

    @property
    def rows(self) -> tuple[Vec3, Vec3, Vec3]:
        return (
            Vec3(self.xx, self.xy, self.xz),
            Vec3(self.yx, self.yy, self.yz),
            Vec3(self.zx, self.zy, self.zz),
        )

    @property
    def columns(self) -> tuple[Vec3, Vec3, Vec3]:
        return self.T.rows

    @classmethod
    def from_columns(cls, x: Vec3, y: Vec3, z: Vec3) -> Mat3:
        return cls(x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z)

    def dot(self, other: Mat3) -> Mat3:
        """The matrix product self other."""
        return Mat3.from_columns(*(self @ column for column in other.columns))

    def upper(self) -> Sym3:
        """A tensor that is symmetric by its meaning, read off its upper triangle."""
        return Sym3(self.xx, self.xy, self.xz, self.yy, self.yz, self.zz)

    def axial(self) -> Vec3:
        """The vector t whose skew tensor is A - A^T."""
        return Vec3(self.zy - self.yz, self.xz - self.zx, self.yx - self.xy)


IDENTITY = Mat3(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


class Sym3:
    """A symmetric 3x3 tensor."""

    __slots__ = ("xx", "xy", "xz", "yy", "yz", "zz")

    def __init__(self, xx, xy, xz, yy, yz, zz) -> None:
        self.xx, self.xy, self.xz = xx, xy, xz
        self.yy, self.yz, self.zz = yy, yz, zz

    def __iter__(self) -> Iterator[Scalar]:
        return iter((self.xx, self.xy, self.xz, self.yy, self.yz, self.zz))

    def __add__(self, other: Sym3) -> Sym3:
        return Sym3(*(a + b for a, b in zip(self, other, strict=True)))

    def __sub__(self, other: Sym3) -> Sym3:
        return Sym3(*(a - b for a, b in zip(self, other, strict=True)))

    def __mul__(self, factor: Scalar) -> Sym3:
        return Sym3(*(a * factor for a in self))

    def __matmul__(self, v: Vec3) -> Vec3:
        return Vec3(
            self.xx * v.x + self.xy * v.y + self.xz * v.z,
            self.xy * v.x + self.yy * v.y + self.yz * v.z,
            self.xz * v.x + self.yz * v.y + self.zz * v.z,
        )

    def full(self) -> Mat3:
        return Mat3(self.xx, self.xy, self.xz, self.xy, self.yy, self.yz, self.xz, self.yz, self.zz)

    def trace(self) -> Scalar:
        return self.xx + self.yy + self.zz

    def complement(self) -> Sym3:
        """tr(A) 1 - A: turns a second mass moment ∫ρρ^T dm into the inertia tensor of the same point."""
        return Sym3(self.yy + self.zz, -self.xy, -self.xz, self.xx + self.zz, -self.yz, self.xx + self.yy)


def skew(v: Vec3) -> Mat3:
    """The tensor v~ with v~ a = v x a."""
    return Mat3(0.0, -v.z, v.y, v.z, 0.0, -v.x, -v.y, v.x, 0.0)


def acceleration_tensor(omega: Vec3, omegad: Vec3) -> Mat3:
    """Ω = ω̇~ + ω~², Mata 2002 eq. (12). 6 products, 9 sums."""
    xx, yy, zz = omega.x * omega.x, omega.y * omega.y, omega.z * omega.z
    xy, xz, yz = omega.x * omega.y, omega.x * omega.z, omega.y * omega.z
    return Mat3(
        -(yy + zz), xy - omegad.z, xz + omegad.y,
        xy + omegad.z, -(xx + zz), yz - omegad.x,
        xz - omegad.y, yz + omegad.x, -(xx + yy),
    )  # fmt: skip


def moment_of_tensor(A: Mat3, J: Sym3) -> Vec3:
    """The vector t with t~ = A J - (A J)^T, Mata 2002 eq. (10). 15 products, 15 sums."""
    return Vec3(
        A.zx * J.xy - A.yx * J.xz + A.zy * J.yy - A.yz * J.zz + (A.zz - A.yy) * J.yz,
        A.xy * J.yz - A.zy * J.xy + A.xz * J.zz - A.zx * J.xx + (A.xx - A.zz) * J.xz,
        A.yz * J.xz - A.xz * J.yz + A.yx * J.xx - A.xy * J.yy + (A.yy - A.xx) * J.xy,
    )
