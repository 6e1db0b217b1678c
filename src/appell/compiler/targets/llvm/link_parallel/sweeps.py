"""Sweeps over the links, layer by layer."""

from __future__ import annotations

from functools import partial

from appell.compiler.emit import hoisted_angles
from appell.compiler.rolled.link_parallel import Chain, DistributedSweep, Layer
from appell.compiler.targets.llvm.link_parallel.memory import Key
from appell.compiler.targets.llvm.link_parallel.steps import Carried, LinkSteps, nothing_carried, outputs
from appell.compiler.targets.llvm.link_parallel.sums import write_sums


def write_angles(steps: LinkSteps) -> None:
    """Sines and cosines of all links; inputs are checked."""
    memory = steps.memory
    with memory.each_block() as b:
        angles = []
        for g, step in enumerate(memory.form.sweeps[0].steps):
            angle = next(iter(hoisted_angles(step.listed)), None)
            values = steps.in_lanes(step, g, b, nothing_carried)
            angles.append(memory.zero if angle is None else values[angle])
        memory.keep(steps.of_group(angles, b), ("angle",), b)
        for k, name in enumerate(memory.rolled.inputs):
            memory.note(memory.vector((name,), b), k)
    given = ", ".join(f"ptr {memory.place((key,), 0)}" for key in ("angle", "sin", "cos"))
    memory.write.line(f"call void @appell_sincos({given}, i64 {memory.blocks})")


def write_sweep(steps: LinkSteps, number: int, sweep: DistributedSweep) -> None:
    def carried(slot: int) -> Key:
        return "carried", number, slot

    known: list[dict[int, Key]] = [{} for _ in sweep.steps]
    for layer in sweep.layers:
        terms = write_layer(steps, number, sweep, layer, carried, known)
        if layer.chain:
            write_chain(steps, sweep, layer.chain, carried, known)
        if layer.sums:
            starts = {carried(each.slot): sweep.start[each.slot] for each in layer.sums}
            write_sums(steps.memory, terms, starts, sweep.inward)


def write_layer(
    steps: LinkSteps, number: int, sweep: DistributedSweep, layer: Layer, carried: Carried, known: list[dict[int, Key]]
) -> list[Key]:
    """What all links compute at once; the rows of the terms of its sums."""
    memory = steps.memory
    stores: list[dict[int, list[Key]]] = []
    for g, step in enumerate(sweep.steps):
        stores.append({k: [("value", number, g, k)] for k in layer.stored[g]})
        for (kind, place), k in outputs(step).items() if layer is sweep.layers[-1] else ():
            if kind == "kept":
                row: Key = ("kept", g, place)
                steps.kept[g][place] = steps.read_key(g, step, k, carried) or row
                if steps.kept[g][place] == row:
                    stores[g].setdefault(k, []).append(row)
    terms: list[Key] = []
    for each in layer.sums:
        keys = {steps.read_key(g, step, each.terms[g], carried) for g, step in enumerate(sweep.steps)}
        shared = keys.pop() if len(keys) == 1 else None
        terms.append(("term", number, each.slot) if shared is None else shared)
    with memory.each_block() as b:
        values = [steps.in_lanes(step, g, b, carried, known[g]) for g, step in enumerate(sweep.steps)]
        for g, own in enumerate(values):
            body = frozenset(layer.bodies[g])
            for k in dict.fromkeys((*layer.bodies[g], *stores[g])):
                value = own.compute(k) if k in body else own[k]
                for key in stores[g].get(k, ()):
                    memory.keep(value, key, b)
        for each, key in zip(layer.sums, terms, strict=True):
            if key == ("term", number, each.slot):
                total = steps.of_group([own[k] for own, k in zip(values, each.terms, strict=True)], b)
                memory.keep(total, key, b)
    for g, stored in enumerate(layer.stored):
        known[g].update({k: ("value", number, g, k) for k in stored})
    return terms


def write_chain(
    steps: LinkSteps, sweep: DistributedSweep, chain: Chain, carried: Carried, known: list[dict[int, Key]]
) -> None:
    """Values that depend on each other, link by link; what a link leaves waits in a row where the tree branches."""
    memory, write = steps.memory, steps.memory.write
    one, branches = memory.one, bool(memory.rolled.branches)
    if memory.padded > memory.rolled.nv:
        for slot in chain.slots:
            memory.keep(memory.zero, carried(slot), memory.blocks - 1)
    left = {slot: write.slot(one.type) for slot in chain.slots}
    with write.loop(len(memory.rolled.links)) as i:
        lane, parent = memory.whole("v_of", i), memory.whole("parent_of", i)
        root = write.integer("icmp slt", parent, 0)
        with write.when(root):
            for slot, variable in left.items():
                write.store(one.type, one.literal(sweep.start[slot]), variable)
        if branches:
            apart = write.integer("icmp ne", parent, write.integer("sub", i, 1))
            with write.when(write.value(f"and i1 {apart}, {write.value(f'xor i1 {root}, true')}")):
                at = memory.whole("v_of", parent)
                for slot, variable in left.items():
                    write.store(one.type, write.load(one.type, memory.number(("left", slot), at)), variable)
        for slot, variable in left.items():
            write.store(one.type, write.load(one.type, variable), memory.number(carried(slot), lane))

        def write_step(g: int) -> None:
            values, own = steps.of_link(sweep.steps[g], g, lane, carried, known[g], left), outputs(sweep.steps[g])
            for k in chain.bodies[g]:
                values.compute(k)
            for slot, value in {slot: values[own["carried", slot]] for slot in chain.slots}.items():
                write.store(one.type, value, left[slot])
                if branches:
                    write.store(one.type, value, memory.number(("left", slot), lane))

        write.choose(memory.whole("group_of", i), [partial(write_step, g) for g in memory.groups])
