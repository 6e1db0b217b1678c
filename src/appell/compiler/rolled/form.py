"""A function of a robot in rolled form, as plain data: it can be written down in any dialect, or kept in a file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from appell.compiler.emit import Dialect
from appell.compiler.rolled.steps import TracedClimb, TracedStep, TracedSweep, Tracer, groups, numbers
from appell.compiler.rolled.sweep import Program
from appell.compiler.rolled.text import PIVOTS, Writer
from appell.compiler.rolled.triple_steps import TracedTriples, traced_triples
from appell.model.tree import BASE, Tree

PAIR, ENTRY, TRIPLE = 30, 8, 70
"""Operations of one step of a climb and one matrix, or one column of a link, and of a triple of links, roughly; systems of
equations are solved in twice as many as columns."""


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
        matrices, by_link, stacked: as in `AncestorPass`.
        solves, sums, masses, solved_after: as in `Program`; with `masses`, links have to be side by side (`LinkParallel`).
        forces: external forces that are an input.
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
    by_link: bool = False
    sums: bool = False
    masses: tuple[TracedClimb, ...] = ()
    solved_after: int = 0
    stacked: bool = False
    triples: tuple[TracedTriples, ...] = ()
    forces: int = 0

    @classmethod
    def of(cls, tree: Tree, program: Program, by_zeros: bool = True) -> Rolled:
        """The form of a program; links whose trivial rotations differ are in groups of their own or not."""
        found = groups(tree, program, by_zeros)
        tracer = Tracer(tree, program, found)
        sweeps, masses = [], ()
        for number, sweep in enumerate(program.sweeps):
            if program.masses and number == program.solved_after:
                masses = tuple(tracer.masses(program.masses))
            sweeps.append(tracer.sweep(sweep))
        climb = tuple(tracer.climb(program.climb)) if program.climb else ()
        triples = tuple(traced_triples(tracer, program.triples)) if program.triples else ()
        group = {i: g for g, each in enumerate(found) for i in each.members}
        links = tuple(
            RolledLink(
                *(group[i], link.parent, link.idx_q, link.idx_v, link.kind.nv, link.is_independent),
                tuple(numbers(link, program.more_of(i))),
            )
            for i, link in enumerate(tree.links)
        )
        last = program.climb or program.triples
        by_link, stacked = (program.climb.by_link, program.climb.stacked) if program.climb else (False, False)
        return cls(
            program.inputs, tree.nq, tree.nv, links, tuple(sweeps), climb, max(tracer.size), last.matrices if last else 1,
            program.solves, by_link, program.sums, masses, program.solved_after, stacked, triples,
            len(program.force_frames),
        )  # fmt: skip

    @property
    def sizes(self) -> tuple[int, ...]:
        sizes = {"q": self.nq, "gravity": 3, "external_forces": 6 * self.forces}
        return tuple(sizes.get(name, self.nv) for name in self.inputs)

    @property
    def size_out(self) -> int:
        if self.sums:
            return 1
        if self.triples:
            return self.nv * self.nv * self.width
        return self.nv * self.width * (self.matrices if self.stacked else 1) if self.climb else self.nv

    @cached_property
    def width(self) -> int:
        """Columns of a result that a climb or a pass over triples writes."""
        if self.stacked:
            return self.nv
        solution = self.nv if self.masses else 0
        return self.matrices * (len(self.links) if self.by_link else self.nv) + len(self.last_columns) + solution

    @property
    def stride(self) -> int:
        """Distance between matrices of a result."""
        if self.stacked:
            return self.nv * self.nv
        return 1 if self.by_link else self.nv

    @property
    def pitch(self) -> int:
        """Distance between entries of a link's results of sweeps: those of a column lie in rows."""
        return self.width if self.by_link else 1

    @property
    def places(self) -> tuple[str, str]:
        """Names of whole numbers: the first column of a link in the climb, and the first of its results of sweeps."""
        return "column_of" if self.by_link else "v_of", "result_of" if self.by_link or self.sums else "v_of"

    @cached_property
    def last_columns(self) -> dict[int, int]:
        """Links with a column of their own behind those of the climb, for results of sweeps; and that column."""
        if not self.by_link:
            return {}
        giving = {
            group
            for sweep in self.sweeps
            for group, step in enumerate(sweep.steps)
            if any(kind == "result" for kind, _ in step.targets)
        }
        links = [i for i, link in enumerate(self.links) if link.group in giving]
        return {i: self.matrices * len(self.links) + k for k, i in enumerate(links)}

    @property
    def angle_count(self) -> int:
        return len(self.links)

    @property
    def shared(self) -> int:
        width = max((len(sweep.alive) for sweep in self.sweeps), default=0)
        factors = PIVOTS * self.nv if self.solves else 0
        return max(len(self.links) * self.row + len(self.branches) * width, factors)

    @property
    def adds(self) -> bool:
        """Whether several links add to one entry of the result."""
        return self.sums or not all(link.leads for link in self.links)

    @property
    def needs_zeros(self) -> bool:
        """Whether the result has to be zero before: links add to it, or not all entries are written."""
        return self.adds or bool(self.climb or self.triples)

    @property
    def keeps_zeros(self) -> bool:
        """Whether entries that have to be zero before are zero after a call, too, or always written."""
        return not self.adds and not self.solves

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
        pair = ENTRY if self.by_link else PAIR + (2 * self.nv if self.solves else 0)
        pairs = pair * self.matrices * sum(self.depths) if self.climb else 0
        return own + pairs + (TRIPLE * sum(depth * depth for depth in self.depths) if self.triples else 0)

    @property
    def functions_used(self) -> frozenset[str]:
        names = {operation.name for step in self.steps for operation in step.listed.operations}
        return frozenset(names - {"sin", "cos"})

    @property
    def integers(self) -> dict[str, list[int]]:
        """Whole numbers of the links that the loops read."""
        walks = self.climb or self.triples
        first = [sum(len(walk.begin) for walk in walks[:g]) for g in range(len(self.sweeps[0].steps))]
        branches, last, width = self.branches, self.last_columns, self.width
        return {
            "group_of": [link.group for link in self.links],
            "begin_of": [first[link.group] for link in self.links],
            "walks_of": [1 if self.by_link else link.degrees for link in self.links],
            "parent_of": [link.parent for link in self.links],
            "q_of": [link.q for link in self.links],
            "v_of": [link.v for link in self.links],
            "column_of": [self.matrices * i for i in range(len(self.links))],
            "result_of": [0 if self.sums else link.v * width + last.get(i, 0) for i, link in enumerate(self.links)],
            "slot_of": [branches.get(i, -1) for i in range(len(self.links))],
        }

    def data(self, dialect: Dialect) -> str:
        """The constants that the functions read."""
        text = self.functions(dialect, "any")
        rows = ",\n".join("    {" + ", ".join(map(dialect.literal, link.numbers)) + "}" for link in self.links)
        return "\n".join((
            f"enum {{ LINKS = {len(self.links)}, ROW = {self.row} }};",
            *([f"static const real table[LINKS][{len(self.links[0].numbers)}] = {{\n{rows}\n}};"] if "table[" in text else []),
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
