"""Functions with links side by side as LLVM IR: one state at a time, a link in each lane.

Lanes are in the order of the generalized velocities. Every value of all links is a row of w, of whole vectors, from which loops
over the links take numbers. A matrix is written by rows: the elements that a link shares with those beyond it, and then with
those before it, with its own numbers in all lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from appell.compiler.emit import hoisted_angles
from appell.compiler.rolled.link_parallel import Chain, DistributedSweep, Layer, LinkParallel, behind
from appell.compiler.rolled.steps import PairPlace, StepSource, TracedStep
from appell.compiler.targets.llvm.ir import FunctionWriter, Real
from appell.compiler.targets.llvm.lanes import exchanged
from appell.compiler.targets.llvm.operations import Values

Key = tuple[Hashable, ...]
"""The name of a row: its kind, and what it belongs to."""


class LinkParallelWriter:
    """Writes one function; `rows` are the places of its values in w."""

    def __init__(self, form: LinkParallel, real: Real) -> None:
        self.form, self.rolled, self.real, self.one = form, form.rolled, real, Real(real.dtype)
        self.blocks = -(-self.rolled.nv // real.lanes)
        self.padded, self.groups = self.blocks * real.lanes, range(len(self.rolled.sweeps[0].steps))
        self.rows: dict[Key, int] = {}
        self.kept: list[dict[int, Key]] = [{} for _ in self.groups]
        for name in self.rolled.inputs:
            self.row((name,))

    @property
    def numbers(self) -> int:
        """Numbers of scratch memory."""
        return len(self.rows) * self.padded

    def text(self) -> str:
        """`link_body(w, y)`, whose inputs are rows of w: 1 where a number is not finite, else 0."""
        write = FunctionWriter("internal i32 @link_body(ptr noalias %w, ptr noalias %y) #0")
        self.found = [write.slot(self.real.type, self.real.literal(0.0)) for _ in range(self.rolled.matrices)]
        self.angles(write)
        for number, sweep in enumerate(self.form.sweeps):
            self.sweep(write, number, sweep)
        if any(len(ancestors) < i for i, ancestors in enumerate(self.form.ancestors)):
            size = self.rolled.size_out * self.real.item
            write.line(f"call void @llvm.memset.p0.i64(ptr %y, i8 0, i64 {size}, i1 false)")
        self.matrices(write)
        T, (total, *others) = self.real.type, [write.load(self.real.type, found) for found in self.found]
        for other in others:
            total = write.value(f"fadd {T} {total}, {other}")
        bad = write.value(f"fcmp uno {T} {total}, zeroinitializer")
        write.line(f"ret i32 {write.value(f'zext i1 {write.any_lane(self.real, bad)} to i32')}")
        return self.tables() + write.text()

    def tables(self) -> str:
        """Numbers of the links, whole numbers in the order of the links, and relations as bits of lanes."""
        lanes, links = self.real.lanes, self.rolled.links
        at = {link.v: link for link in links}
        columns = [
            [at[lane].numbers[k] if lane in at else 0.0 for lane in range(self.padded)]
            for k in range(len(links[0].numbers))
        ]
        numbers = ", ".join(f"{self.one.scalar} {self.one.literal(x)}" for column in columns for x in column)
        lines = [
            f"@columns = internal constant [{len(columns) * self.padded} x {self.one.scalar}] [{numbers}], align 64"
        ]
        whole = {name: self.rolled.integers[name] for name in ("v_of", "parent_of", "group_of")}
        whole["group_at"] = [at[lane].group for lane in range(self.rolled.nv)]
        for name, values in whole.items():
            entries = ", ".join(f"i64 {value}" for value in values)
            lines.append(f"@{name} = internal constant [{len(values)} x i64] [{entries}]")
        bits: dict[str, list[int]] = {"before": [0] * (self.rolled.nv * self.blocks)}
        bits["beyond"] = list(bits["before"])
        for i, ancestors in enumerate(self.form.ancestors):
            for j in ancestors:
                own, other = links[i].v, links[j].v
                bits["before"][own * self.blocks + other // lanes] |= 1 << other % lanes
                bits["beyond"][other * self.blocks + own // lanes] |= 1 << own % lanes
        for g in self.groups:
            members = {link.v for link in links if link.group == g}
            bits[f"members{g}"] = [
                sum(1 << lane for lane in range(lanes) if b * lanes + lane in members) for b in range(self.blocks)
            ]
        for name, values in bits.items():
            entries = ", ".join(f"{self.bits} {value}" for value in values)
            lines.append(f"@{name} = internal constant [{len(values)} x {self.bits}] [{entries}]")
        return "\n".join(lines) + "\n"

    @property
    def is_branched(self) -> bool:
        """Whether not every link is on the one before it."""
        return any(link.parent != i - 1 for i, link in enumerate(self.rolled.links))

    @property
    def bits(self) -> str:
        """The integer that has a bit for every lane."""
        return f"i{max(self.real.lanes, 8)}"

    # --- rows and numbers -----------------------------------------------------------------------------------------------

    def row(self, key: Key) -> int:
        return self.rows.setdefault(key, len(self.rows))

    @contextmanager
    def block_loop(self, write: FunctionWriter) -> Iterator[int | str]:
        """For every vector of lanes."""
        if self.blocks == 1:
            yield 0
        else:
            with write.loop(self.blocks) as b:
                yield b

    def place(self, write: FunctionWriter, key: Key, b: int | str) -> str:
        first = self.row(key) * self.blocks
        index = first + b if isinstance(b, int) else write.integer("add", first, b)
        return write.at(self.real.type, "%w", index)

    def vector(self, write: FunctionWriter, key: Key, b: int | str) -> str:
        return write.load(self.real.type, self.place(write, key, b))

    def keep(self, write: FunctionWriter, value: str, key: Key, b: int | str) -> None:
        write.store(self.real.type, value, self.place(write, key, b))

    def number(self, write: FunctionWriter, key: Key, lane: int | str) -> str:
        """The address of one link's number."""
        first = self.row(key) * self.padded
        return write.at(
            self.one.scalar, "%w", first + lane if isinstance(lane, int) else write.integer("add", first, lane)
        )

    def whole(self, write: FunctionWriter, name: str, i: str) -> str:
        return write.load("i64", f"@{name}", i)

    def mask(self, write: FunctionWriter, bits: str) -> str:
        """Bits as a vector of truth values."""
        lanes = self.real.lanes
        if lanes < 8:
            bits = write.value(f"trunc {self.bits} {bits} to i{lanes}")
        return write.value(f"bitcast i{lanes} {bits} to {self.real.mask}")

    def note(self, write: FunctionWriter, value: str, which: int = 0) -> None:
        """Numbers that are not finite leave NaN in one of the vectors `found`; several, as each sum waits for the last one."""
        T, found = self.real.type, self.found[which % len(self.found)]
        product = write.value(f"fmul contract {T} {value}, {self.real.literal(0.0)}")
        write.store(T, write.value(f"fadd contract {T} {write.load(T, found)}, {product}"), found)

    # --- operations of all links ----------------------------------------------------------------------------------------

    def loader(
        self,
        write: FunctionWriter,
        step: TracedStep,
        given: Callable[[StepSource], str],
        known: Mapping[int, Callable[[], str]],
    ) -> Callable[[int], str | None]:
        """How values of a step are loaded: `given` its inputs, sine and cosine among them, `known` what was computed before."""
        operations = step.listed.operations

        def load(k: int) -> str | None:
            name, _, number = operations[k]
            if name in ("sin", "cos"):
                return given(StepSource(name, 0))
            if name == "input":
                return given(step.sources[int(number)])
            return known[k]() if k in known else None

        return load

    def key_of(self, g: int, source: StepSource, carried: Callable[[int], Key]) -> Key:
        """The row of a step's input, which is not from the table."""
        if source.origin == "kept":
            return self.kept[g][source.index]
        return carried(source.index) if source.origin == "carried" else (source.origin,)

    def in_lanes(
        self, write: FunctionWriter, step: TracedStep, g: int, b: int | str,
        carried: Callable[[int], Key] = lambda k: ("column", k), known: Mapping[int, Key] | None = None,
    ) -> Values:  # fmt: skip
        """Values of a step for a vector of links."""

        def given(source: StepSource) -> str:
            if source.origin == "table":
                first = source.index * self.blocks
                index = first + b if isinstance(b, int) else write.integer("add", first, b)
                return write.load(self.real.type, "@columns", index)
            return self.vector(write, self.key_of(g, source, carried), b)

        rows = {k: partial(self.vector, write, key, b) for k, key in (known or {}).items()}
        return Values(write, self.real, step.listed, self.loader(write, step, given, rows))

    def of_group(self, write: FunctionWriter, values: Sequence[str], b: int | str) -> str:
        """Of one value for each group, that of each lane's group."""
        chosen = values[0]
        for g, value in enumerate(values[1:], 1):
            mask = self.mask(write, write.load(self.bits, f"@members{g}", b))
            T = self.real.type
            chosen = write.value(f"select {self.real.mask} {mask}, {T} {value}, {T} {chosen}")
        return chosen

    def angles(self, write: FunctionWriter) -> None:
        with self.block_loop(write) as b:
            angles = []
            for g, step in enumerate(self.form.sweeps[0].steps):
                angle = next(iter(hoisted_angles(step.listed)), None)
                angles.append(self.real.literal(0.0) if angle is None else self.in_lanes(write, step, g, b)[angle])
            self.keep(write, self.of_group(write, angles, b), ("angle",), b)
            for name in self.rolled.inputs:
                self.note(write, self.vector(write, (name,), b))
        given = ", ".join(f"ptr {self.place(write, key, 0)}" for key in (("angle",), ("sin",), ("cos",)))
        write.line(f"call void @appell_sincos({given}, i64 {self.blocks})")

    def sweep(self, write: FunctionWriter, number: int, sweep: DistributedSweep) -> None:
        def carried(slot: int) -> Key:
            return "carried", number, slot

        known: list[dict[int, Key]] = [{} for _ in self.groups]
        for layer in sweep.layers:
            terms = self.layer(write, number, sweep, layer, carried, known)
            if layer.chain:
                self.chain(write, sweep, layer.chain, carried, known)
            if layer.sums:
                starts = {carried(each.slot): sweep.start[each.slot] for each in layer.sums}
                self.sums(write, terms, starts, sweep.inward)

    def layer(
        self, write: FunctionWriter, number: int, sweep: DistributedSweep, layer: Layer,
        carried: Callable[[int], Key], known: list[dict[int, Key]],
    ) -> list[Key]:  # fmt: skip
        """What all links compute at once; the rows of the terms of its sums."""
        stores: list[dict[int, list[Key]]] = []
        for g, step in enumerate(sweep.steps):
            stores.append({k: [("value", number, g, k)] for k in layer.stored[g]})
            if layer is sweep.layers[-1]:
                for (_, place), k in self.results(step):
                    self.kept[g][place] = self.read_key(g, step, k, carried) or ("kept", g, place)
                    if self.kept[g][place] == ("kept", g, place):
                        stores[g].setdefault(k, []).append(("kept", g, place))
        terms = []
        for each in layer.sums:
            own = {self.read_key(g, step, each.terms[g], carried) for g, step in enumerate(sweep.steps)}
            key = own.pop() if len(own) == 1 else None
            terms.append(("term", number, each.slot) if key is None else key)
        with self.block_loop(write) as b:
            values = [self.in_lanes(write, step, g, b, carried, known[g]) for g, step in enumerate(sweep.steps)]
            for g, own in enumerate(values):
                for k in dict.fromkeys((*layer.bodies[g], *stores[g])):
                    value = own.compute(k) if k in layer.bodies[g] else own[k]
                    for key in stores[g].get(k, ()):
                        self.keep(write, value, key, b)
            for each, key in zip(layer.sums, terms, strict=True):
                if key == ("term", number, each.slot):
                    total = self.of_group(write, [own[k] for own, k in zip(values, each.terms, strict=True)], b)
                    self.keep(write, total, key, b)
        for g in self.groups:
            known[g].update({k: ("value", number, g, k) for k in layer.stored[g]})
        return terms

    def results(self, step: TracedStep) -> list[tuple[tuple[str, int], int]]:
        """Targets of a step that are not carried on, and their operations."""
        both = zip(step.targets, step.listed.outputs, strict=True)
        return [(target, k) for target, k in both if target[0] != "carried"]

    def read_key(self, g: int, step: TracedStep, k: int, carried: Callable[[int], Key]) -> Key | None:
        """The row of an operation that only reads one."""
        name, _, number = step.listed.operations[k]
        source = step.sources[int(number)] if name == "input" else None
        return None if source is None or source.origin == "table" else self.key_of(g, source, carried)

    # --- from link to link ----------------------------------------------------------------------------------------------

    def chain(
        self, write: FunctionWriter, sweep: DistributedSweep, chain: Chain,
        carried: Callable[[int], Key], known: list[dict[int, Key]],
    ) -> None:  # fmt: skip
        """Values that depend on each other, link by link; what a link leaves waits in a row where the tree branches."""
        one, branches = self.one, bool(self.rolled.branches)
        if self.padded > self.rolled.nv:
            for slot in chain.slots:
                self.keep(write, self.real.literal(0.0), carried(slot), self.blocks - 1)
        before = {slot: write.slot(one.type) for slot in chain.slots}
        with write.loop(len(self.rolled.links)) as i:
            lane, parent = self.whole(write, "v_of", i), self.whole(write, "parent_of", i)
            root = write.integer("icmp slt", parent, 0)
            with write.when(root):
                for slot, variable in before.items():
                    write.store(one.type, one.literal(sweep.start[slot]), variable)
            apart = write.integer("icmp ne", parent, write.integer("sub", i, 1))
            if branches:
                with write.when(write.value(f"and i1 {apart}, {write.value(f'xor i1 {root}, true')}")):
                    at = self.whole(write, "v_of", parent)
                    for slot, variable in before.items():
                        write.store(one.type, write.load(one.type, self.number(write, ("left", slot), at)), variable)
            for slot, variable in before.items():
                write.store(one.type, write.load(one.type, variable), self.number(write, carried(slot), lane))

            def step(g: int) -> None:
                values = self.of_link(write, sweep.steps[g], g, lane, carried, known[g], before)
                for k in chain.bodies[g]:
                    values.compute(k)
                outputs = dict(zip(sweep.steps[g].targets, sweep.steps[g].listed.outputs, strict=True))
                left = {slot: values[outputs["carried", slot]] for slot in chain.slots}
                for slot, value in left.items():
                    write.store(one.type, value, before[slot])
                    if branches:
                        write.store(one.type, value, self.number(write, ("left", slot), lane))

            write.choose(self.whole(write, "group_of", i), [partial(step, g) for g in self.groups])

    def of_link(
        self, write: FunctionWriter, step: TracedStep, g: int, lane: str,
        carried: Callable[[int], Key], known: Mapping[int, Key], before: Mapping[int, str],
    ) -> Values:  # fmt: skip
        """Values of a step for one link, whose parent left some variables."""

        def read(key: Key) -> str:
            return write.load(self.one.type, self.number(write, key, lane))

        def given(source: StepSource) -> str:
            if source.origin == "table":
                place = write.integer("add", source.index * self.padded, lane)
                return write.load(self.one.type, "@columns", place)
            if source.origin == "carried" and source.index in before:
                return write.load(self.one.type, before[source.index])
            return read(self.key_of(g, source, carried))

        rows = {k: partial(read, key) for k, key in known.items()}
        return Values(write, self.one, step.listed, self.loader(write, step, given, rows))

    def sums(self, write: FunctionWriter, terms: Sequence[Key], starts: Mapping[Key, float], inward: bool) -> None:
        """Sums over the links before each one, or beyond it: of a vector of terms at once, transposed."""
        lanes, targets = self.real.lanes, list(starts)
        parts = [slice(k, k + lanes) for k in range(0, len(targets), lanes)]
        begins = [[starts[key] for key in targets[part]] for part in parts]
        if self.blocks == 1:
            for term, (target, start) in zip(terms, starts.items(), strict=True):
                self.keep(write, self.added(write, term, start, inward), target, 0)
            return
        T = self.real.type
        areas = [[self.area(which, p) for p in range(len(parts))] for which in ("terms", "totals")]
        with write.loop(self.blocks) as b:
            first = write.integer("mul", b, lanes)
            for part, area in zip(parts, areas[0], strict=True):
                links = self.transposed(write, [self.vector(write, key, b) for key in terms[part]])
                for lane, vector in enumerate(links):
                    write.store(T, vector, "%w", write.integer("add", first, area + lane))
        for area in areas[1]:
            for pad in range(self.rolled.nv, self.padded):
                write.store(T, self.real.literal(0.0), "%w", area + pad)
        self.add_in_memory(write, areas, begins, inward)
        with write.loop(self.blocks) as b:
            first = write.integer("mul", b, lanes)
            for part, area in zip(parts, areas[1], strict=True):
                links = [write.load(T, "%w", write.integer("add", first, area + lane)) for lane in range(lanes)]
                for key, vector in zip(targets[part], exchanged(write, self.real, links), strict=False):
                    self.keep(write, vector, key, b)

    def transposed(self, write: FunctionWriter, vectors: list[str]) -> list[str]:
        zero = self.real.literal(0.0)
        return exchanged(write, self.real, vectors + [zero] * (self.real.lanes - len(vectors)))

    def area(self, which: str, part: int) -> int:
        """The first of rows with a vector for each link."""
        rows = [self.row((which, part, k)) for k in range(self.real.lanes)]
        return rows[0] * self.blocks

    def constant(self, numbers: Sequence[float]) -> str:
        """A vector of these numbers, and zeros."""
        if not any(numbers):
            return self.real.literal(0.0)
        filled = (*numbers, *[0.0] * (self.real.lanes - len(numbers)))
        return "<" + ", ".join(f"{self.one.scalar} {self.one.literal(x)}" for x in filled) + ">"

    def added(self, write: FunctionWriter, term: Key, start: float, inward: bool) -> str:
        """A sum for the links of one block."""
        T, links, others = self.real.type, self.rolled.links, self.form.ancestors
        before = {link.v: links[link.parent].v for link in links if link.parent >= 0}
        hops = {parent: lane for lane, parent in before.items()} if inward else before
        if len(hops) == len(before):  # every link has one neighbour there: sums over 1, 2, 4, ... of them
            total = self.moved(write, self.vector(write, term, 0), hops)
            while hops:
                total = write.value(f"fadd {T} {total}, {self.moved(write, total, hops)}")
                hops = {lane: hops[over] for lane, over in hops.items() if over in hops}
            return write.value(f"fadd {T} {total}, {self.real.literal(start)}") if start else total
        total = self.real.literal(start)
        for i, link in enumerate(links):
            takers = {links[j].v for j in others[i]}
            if takers:
                mask = "<" + ", ".join(f"i1 {str(lane in takers).lower()}" for lane in range(self.real.lanes)) + ">"
                number = write.splat(self.real, write.load(self.one.type, self.number(write, term, link.v)))
                more = write.value(f"fadd {T} {total}, {number}")
                total = write.value(f"select {self.real.mask} {mask}, {T} {more}, {T} {total}")
        return total

    def moved(self, write: FunctionWriter, vector: str, origins: Mapping[int, int]) -> str:
        """Lanes of a vector in other places; zero where there is no origin."""
        lanes = self.real.lanes
        return write.shuffle(
            self.real, vector, "zeroinitializer", lanes, [origins.get(k, lanes + k) for k in range(lanes)]
        )

    def add_in_memory(
        self, write: FunctionWriter, areas: Sequence[Sequence[int]], begins: Sequence[Sequence[float]], inward: bool
    ) -> None:
        """The same for any number of links: what a link leaves waits in a variable for the next one, elsewhere in memory."""
        T, count = self.real.type, len(self.rolled.links)
        nothing = self.real.literal(0.0)
        starts = [nothing if inward else self.constant(begin) for begin in begins]
        left = [write.slot(T, start) for start in starts]
        if inward and self.is_branched:
            with write.loop(count) as j:
                for area in areas[1]:
                    write.store(T, nothing, "%w", write.integer("add", j, area))
        with write.loop(count) as index:
            i = write.integer("sub", count - 1, index) if inward else index
            lane, parent = self.whole(write, "v_of", i), self.whole(write, "parent_of", i)
            apart = write.integer("icmp ne", parent, write.integer("sub", i, 1))
            (self.add_inward if inward else self.add_outward)(write, areas, starts, left, lane, parent, apart)

    def add_outward(
        self, write: FunctionWriter, areas: Sequence[Sequence[int]], starts: Sequence[str], left: Sequence[str],
        lane: str, parent: str, apart: str,
    ) -> None:  # fmt: skip
        T = self.real.type
        with write.when(apart):
            root = write.integer("icmp slt", parent, 0)
            at = self.whole(write, "v_of", write.value(f"call i64 @llvm.smax.i64(i64 {parent}, i64 0)"))
            for term, total, start, variable in zip(*areas, starts, left, strict=True):
                own = [write.load(T, "%w", write.integer("add", at, area)) for area in (total, term)]
                taken = write.value(f"fadd {T} {own[0]}, {own[1]}")
                write.store(T, write.value(f"select i1 {root}, {T} {start}, {T} {taken}"), variable)
        for term, total, variable in zip(*areas, left, strict=True):
            before = write.load(T, variable)
            write.store(T, before, "%w", write.integer("add", lane, total))
            own = write.load(T, "%w", write.integer("add", lane, term))
            write.store(T, write.value(f"fadd {T} {before}, {own}"), variable)

    def add_inward(
        self, write: FunctionWriter, areas: Sequence[Sequence[int]], starts: Sequence[str], left: Sequence[str],
        lane: str, parent: str, apart: str,
    ) -> None:  # fmt: skip
        T, branches = self.real.type, self.is_branched
        for term, total, variable in zip(*areas, left, strict=True):
            beyond, place = write.load(T, variable), write.at(T, "%w", write.integer("add", lane, total))
            if branches:
                beyond = write.value(f"fadd {T} {beyond}, {write.load(T, place)}")
            write.store(T, beyond, place)
            own = write.load(T, "%w", write.integer("add", lane, term))
            write.store(T, write.value(f"fadd {T} {beyond}, {own}"), variable)
        if branches:
            with write.when(apart):
                inner = write.integer("icmp sge", parent, 0)
                with write.when(inner):
                    at = self.whole(write, "v_of", parent)
                    for total, variable in zip(areas[1], left, strict=True):
                        place = write.at(T, "%w", write.integer("add", at, total))
                        own = write.value(f"fadd {T} {write.load(T, place)}, {write.load(T, variable)}")
                        write.store(T, own, place)
                for start, variable in zip(starts, left, strict=True):
                    write.store(T, start, variable)

    # --- matrices -------------------------------------------------------------------------------------------------------

    def matrices(self, write: FunctionWriter) -> None:
        self.columns(write)
        T, width, matrices = self.one.type, self.rolled.width, self.rolled.matrices
        with write.loop(self.rolled.nv) as r:
            start = write.at(T, "%y", write.integer("mul", r, width))
            cases = [partial(self.elements_beyond, write, g, r, start) for g in self.groups]
            write.choose(self.whole(write, "group_at", r), cases)
            self.elements_before(write, r, start)
            for m in range(matrices):
                own = write.load(T, self.number(write, ("own", m), r))
                write.store(T, own, start, write.integer("add", r, m * self.rolled.stride))

    def columns(self, write: FunctionWriter) -> None:
        """What the column of each link is made of, and its element on the diagonal."""
        begins = [climb.begin[0] for climb in self.rolled.climb]
        outputs = [dict(zip(step.targets, step.listed.outputs, strict=True)) for step in begins]
        self.column: dict[int, Key] = {}
        for kind, place in outputs[0]:
            if kind == "carried":
                keys = {
                    self.read_key(g, step, own[kind, place], _no_row)
                    for g, (step, own) in enumerate(zip(begins, outputs, strict=True))
                }
                key = keys.pop() if len(keys) == 1 else None
                self.column[place] = ("column", place) if key is None else key
        with self.block_loop(write) as b:
            values = [self.in_lanes(write, step, g, b) for g, step in enumerate(begins)]
            for kind, place in outputs[0]:
                key = self.column[place] if kind == "carried" else ("own", place % self.rolled.matrices)
                if key[0] in ("column", "own"):
                    both = zip(values, outputs, strict=True)
                    self.keep(write, self.of_group(write, [own[outs[kind, place]] for own, outs in both], b), key, b)
                if kind == "result":
                    self.note(write, self.vector(write, key, b))

    def elements_beyond(self, write: FunctionWriter, g: int, r: str, start: str) -> None:
        """Row r, in the columns of all links beyond: link r has a group."""
        step = self.rolled.climb[g].meet
        wanted = self.meetings(step, across=0)
        splats = self.in_all_lanes(write, step, wanted, g, r, carried=False)
        with self.block_loop(write) as b, self.related(write, "beyond", r, b) as mask:

            def given(source: StepSource) -> str:
                return (
                    self.vector(write, self.column[source.index], b) if source.origin == "carried" else splats[source]
                )

            self.write_elements(write, step, given, wanted, start, b, mask)

    def elements_before(self, write: FunctionWriter, r: str, start: str) -> None:
        """Row r, in the columns of all links before, of each group."""
        for g in self.groups:
            step = self.rolled.climb[g].meet
            wanted = self.meetings(step, across=1)
            splats = self.in_all_lanes(write, step, wanted, g, r, carried=True)
            with self.block_loop(write) as b, self.related(write, "before", r, b, g) as mask:

                def given(source: StepSource, g: int = g, b: int | str = b, splats: Mapping = splats) -> str:
                    if source.origin == "carried":
                        return splats[source]
                    if source.origin == "table":
                        index = source.index * self.blocks
                        place = index + b if isinstance(b, int) else write.integer("add", index, b)
                        return write.load(self.real.type, "@columns", place)
                    return self.vector(write, self.kept[g][source.index], b)

                self.write_elements(write, step, given, wanted, start, b, mask)

    @contextmanager
    def related(self, write: FunctionWriter, relation: str, r: str, b: int | str, g: int = 0) -> Iterator[str]:
        """If link r has such relatives in a vector of lanes: which ones they are."""
        bits = write.load(self.bits, f"@{relation}", write.integer("add", write.integer("mul", r, self.blocks), b))
        if relation == "before" and len(self.groups) > 1:
            bits = write.value(f"and {self.bits} {bits}, {write.load(self.bits, f'@members{g}', b)}")
        with write.when(write.value(f"icmp ne {self.bits} {bits}, 0")):
            yield self.mask(write, bits)

    def meetings(self, step: TracedStep, across: int) -> dict[int, int]:
        """Operations that are elements of one row, and the matrix of each."""
        places = ((PairPlace.of(place, self.rolled.matrices), k) for (_, place), k in self.results(step))
        return {place.matrix: k for place, k in places if place.across == across}

    def in_all_lanes(
        self, write: FunctionWriter, step: TracedStep, wanted: Mapping[int, int], g: int, r: str, carried: bool
    ) -> dict[StepSource, str]:
        """Inputs of a step that are numbers of link r: what its column carries, or everything else."""
        needed = behind(step.listed, wanted.values(), frozenset().__contains__)
        found = {}
        for k in needed:
            name, _, number = step.listed.operations[k]
            source = step.sources[int(number)] if name == "input" else None
            if source is None or (source.origin == "carried") != carried:
                continue
            if source.origin == "table":
                pointer = write.at(self.one.type, "@columns", write.integer("add", source.index * self.padded, r))
            else:
                key = self.column[source.index] if carried else self.kept[g][source.index]
                pointer = self.number(write, key, r)
            found[source] = write.splat(self.real, write.load(self.one.type, pointer))
        return found

    def write_elements(
        self, write: FunctionWriter, step: TracedStep, given: Callable[[StepSource], str],
        wanted: Mapping[int, int], start: str, b: int | str, mask: str,
    ) -> None:  # fmt: skip
        values = Values(write, self.real, step.listed, self.loader(write, step, given, {}))
        for m, k in wanted.items():
            value = values[k]
            self.note(write, value, m)
            place = write.integer("add", write.integer("mul", b, self.real.lanes), m * self.rolled.stride)
            pointer = write.at(self.one.type, start, place)
            arguments = f"{self.real.type} {value}, ptr {pointer}, i32 {self.real.item}, {self.real.mask} {mask}"
            write.line(f"call void @llvm.masked.store.{self.real.suffix}.p0({arguments})")


def _no_row(slot: int) -> Key:
    raise AssertionError("the first step of a walk carries nothing")


def link_parallel_functions(form: LinkParallel, real: Real, half: str) -> tuple[tuple[str, ...], int]:
    """The functions of one half of a kernel, and the numbers of scratch memory that they need."""
    writer = LinkParallelWriter(form, real)
    text = writer.text()
    inputs = [writer.row((name,)) * writer.padded for name in form.rolled.inputs]
    scalar, scratch = writer.one, writer.numbers
    if half == "one":
        write = FunctionWriter("i32 @appell_one(ptr %in, ptr %out, ptr noalias %work)")
        for k, (first, size) in enumerate(zip(inputs, form.sizes, strict=True)):
            to = write.at(scalar.type, "%work", first)
            given = f"ptr {to}, ptr {write.load('ptr', '%in', k)}, i64 {size * scalar.item}"
            write.line(f"call void @llvm.memcpy.p0.p0.i64({given}, i1 false)")
            for pad in range(size, writer.padded):
                write.store(scalar.type, scalar.literal(0.0), to, pad)
        write.line(f"ret i32 {write.value('call i32 @link_body(ptr %work, ptr %out)')}")
        return (text, write.text()), scratch
    return (text, batch_text(form, writer, inputs)), scratch + form.size_out


def batch_text(form: LinkParallel, writer: LinkParallelWriter, inputs: Collection[int]) -> str:
    """States one after the other; where entries of a result are apart, it is copied."""
    write = FunctionWriter("i32 @appell_batch(ptr %in, ptr %step, ptr %pitch, ptr %out, i64 %n, ptr noalias %work)")
    scalar, bad = writer.one, write.slot("i32", "0")
    own = write.at(scalar.type, "%work", writer.numbers)
    for first, size in zip(inputs, form.sizes, strict=True):
        for pad in range(size, writer.padded):
            write.store(scalar.type, scalar.literal(0.0), "%work", first + pad)
    with write.loop("%n") as i:
        for k, (first, size) in enumerate(zip(inputs, form.sizes, strict=True)):
            p = write.at(
                scalar.type, write.load("ptr", "%in", k), write.integer("mul", i, write.load("i64", "%step", k))
            )
            pitch = write.load("i64", "%pitch", k)
            with write.loop(size) as j:
                number = write.load(scalar.type, p, write.integer("mul", j, pitch))
                write.store(scalar.type, number, "%work", write.integer("add", j, first))
        step, pitch = (write.load("i64", f"%{name}", len(form.sizes)) for name in ("step", "pitch"))
        to, apart = write.at(scalar.type, "%out", write.integer("mul", i, step)), write.integer("icmp ne", pitch, 1)
        y = write.value(f"select i1 {apart}, ptr {own}, ptr {to}")
        found = write.value(f"call i32 @link_body(ptr %work, ptr {y})")
        write.store("i32", write.value(f"or i32 {write.load('i32', bad)}, {found}"), bad)
        with write.when(apart), write.loop(form.size_out) as j:
            write.store(scalar.type, write.load(scalar.type, own, j), to, write.integer("mul", j, pitch))
    write.line(f"ret i32 {write.load('i32', bad)}")
    return write.text()
