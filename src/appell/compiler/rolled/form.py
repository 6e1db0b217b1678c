"""A function of a robot in rolled form, as plain data: it can be written down in any dialect, or kept in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from appell.compiler.emit import Dialect
from appell.compiler.rolled.steps import TracedClimb, TracedStep, TracedSweep, Tracer, groups, numbers
from appell.compiler.rolled.sweep import Program
from appell.compiler.rolled.text import PIVOTS, Writer
from appell.model.tree import BASE, Tree

PAIR = 30
"""Operations of one step of a climb and one matrix, roughly; systems of equations are solved in twice as many as columns."""


class RolledLink(NamedTuple):
    """What the loops read of one link.

    Attributes:
        group: which step it takes.
        parent, q, v, leads: as in `appell.model.tree.Link`.
        degrees: degrees of freedom of its joint.
        numbers: its row of the table.
    """

    group: int
    parent: int
    q: int
    v: int
    degrees: int
    leads: bool
    numbers: tuple[float, ...]


@dataclass(frozen=True)
class Rolled:
    """A function of a robot in rolled form, ready to be written in any dialect.

    Attributes:
        inputs: name of each input.
        row: values that a link keeps between sweeps.
        matrices: square matrices side by side that a climb writes.
        solves: as in `Program`.
        sizes: entries of each input.
        size_out: entries of the result.
        angle_count: sines and cosines needed, one place a link.
        shared: values of scratch memory.
    """

    inputs: tuple[str, ...]
    nq: int
    nv: int
    links: tuple[RolledLink, ...]
    sweeps: tuple[TracedSweep, ...]
    climb: tuple[TracedClimb, ...]
    row: int
    matrices: int = 1
    solves: bool = False

    @classmethod
    def of(cls, tree: Tree, program: Program) -> Rolled:
        found = groups(tree)
        tracer = Tracer(tree, program, found)
        sweeps = tuple(tracer.sweep(sweep) for sweep in program.sweeps)
        climb = tuple(tracer.climb(program.climb)) if program.climb else ()
        group = {i: g for g, each in enumerate(found) for i in each.members}
        links = tuple(
            RolledLink(
                group[i], link.parent, link.idx_q, link.idx_v, link.kind.nv, link.is_independent, tuple(numbers(link))
            )
            for i, link in enumerate(tree.links)
        )
        matrices = program.climb.matrices if program.climb else 1
        row = max(tracer.size)
        return cls(program.inputs, tree.nq, tree.nv, links, sweeps, climb, row, matrices, program.solves)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(self.nq if name == "q" else self.nv for name in self.inputs)

    @property
    def size_out(self) -> int:
        return self.nv**2 * self.matrices if self.climb else self.nv

    @property
    def angle_count(self) -> int:
        return len(self.links)

    @property
    def shared(self) -> int:
        width = max((len(sweep.alive) for sweep in self.sweeps), default=0)
        factors = PIVOTS * self.nv if self.solves else 0
        return max(len(self.links) * self.row + len(self.branches) * width, factors)

    @property
    def accumulates(self) -> bool:
        """Whether several links write to one entry of the result, or not all entries are written."""
        return bool(self.climb) or not all(link.leads for link in self.links)

    @property
    def branches(self) -> dict[int, int]:
        """Links that do not hand on only to the next link in order, and the slot where carried values wait."""
        waiting = {link.parent for i, link in enumerate(self.links) if link.parent not in (BASE, i - 1)}
        return {parent: slot for slot, parent in enumerate(sorted(waiting))}

    @property
    def depths(self) -> list[int]:
        """For every link, the number of links from the base to it, itself included."""
        depths: list[int] = []
        for link in self.links:
            depths.append(1 + (depths[link.parent] if link.parent != BASE else 0))
        return depths

    @property
    def steps(self) -> list[TracedStep]:
        """All steps of the sweeps."""
        return [step for sweep in self.sweeps for step in sweep.steps]

    @property
    def cost(self) -> int:
        """Operations of one state, roughly."""
        steps = [sweep.steps[link.group].listed for sweep in self.sweeps for link in self.links]
        own = sum(operation.name not in ("input", "const") for listed in steps for operation in listed.operations)
        pair = PAIR + (2 * self.nv if self.solves else 0)
        return own + (pair * self.matrices * sum(self.depths) if self.climb else 0)

    @property
    def functions_used(self) -> frozenset[str]:
        names = {operation.name for step in self.steps for operation in step.listed.operations}
        return frozenset(names - {"sin", "cos"})

    @property
    def integers(self) -> dict[str, list[int]]:
        """Whole numbers of the links that the loops read."""
        first = [sum(len(climb.begin) for climb in self.climb[:g]) for g in range(len(self.sweeps[0].steps))]
        branches = self.branches
        return {
            "group_of": [link.group for link in self.links],
            "begin_of": [first[link.group] for link in self.links],
            "degrees_of": [link.degrees for link in self.links],
            "parent_of": [link.parent for link in self.links],
            "q_of": [link.q for link in self.links],
            "v_of": [link.v for link in self.links],
            "slot_of": [branches.get(i, -1) for i in range(len(self.links))],
        }

    def data(self, dialect: Dialect) -> str:
        """The constants that the functions read."""
        text = self.functions(dialect, "any")
        rows = ",\n".join("    {" + ", ".join(map(dialect.literal, link.numbers)) + "}" for link in self.links)
        return "\n".join((
            f"enum {{ LINKS = {len(self.links)}, ROW = {self.row} }};",
            f"static const real table[LINKS][{len(self.links[0].numbers)}] = {{\n{rows}\n}};",
            *(
                f"static const int {name}[LINKS] = {{{', '.join(map(str, values))}}};"
                for name, values in self.integers.items()
                if name in text
            ),
            "",
        ))  # fmt: skip

    def functions(self, dialect: Dialect, prefix: str) -> str:
        """`<prefix>_angles` and `<prefix>_body`."""
        return Writer(self, dialect, prefix).text()
