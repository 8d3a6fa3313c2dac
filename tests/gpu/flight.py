# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Bytes of K and V that an item has on their way from memory, at most, in the steady loop.

A load is on its way from its instruction to the first one that waits for it: on NVIDIA's and Intel's
machines one that names what it fills (registers; tokens of the scoreboard), on AMD's a wait that
lets fewer accesses be open than have begun since. Where ways through the code meet, what is on its
way on any of them counts; loads to the same place count once; what is cold does not count.
"""

MARKS = {"stage_k", "stage_v", "qk", "pv"}


def after(state, index, one):
    """What is on its way behind an instruction: {number of the load: accesses begun since}."""
    if one.left is not None:
        state = {load: age for load, age in state.items() if age < one.left}
    if one.names:
        state = {load: age for load, age in state.items() if not load[1] & one.names}
    if one.kind.startswith(("global_", "private_")):
        state = {load: age + 1 for load, age in state.items()}
    if one.kind == "global_load" and one.fills and one.mark in MARKS:
        state = {load: age for load, age in state.items() if not load[1] & one.fills}
        state[index, one.fills, one.width] = 0
    return state


def held(state):
    """Bytes of an item; of loads to the same place the widest."""
    places = {}
    for _, fills, width in state:
        places[fills] = max(places.get(fills, 0), width)
    return sum(places.values())


def most(graph, loop):
    """Bytes on their way at most, of an item."""
    before = {loop.header: {}}
    waiting, best = [loop.header], 0
    while waiting:
        block = waiting.pop()
        state = before[block]
        for index, one in enumerate(graph.blocks[block]):
            if one.mark != "cold":
                state = after(state, (block, index), one)
                best = max(best, held(state))
        for following in graph.follow[block]:
            if following not in loop.blocks:
                continue
            old = before.get(following)
            new = dict(old or {})
            for load, age in state.items():
                new[load] = min(age, new.get(load, age))
            if old is None or new != old:
                before[following] = new
                waiting.append(following)
    return best
