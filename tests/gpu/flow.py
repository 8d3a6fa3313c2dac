# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code as a graph: basic blocks, natural loops, and what one turn of a loop executes.

A function is a list of labels (strings) and instructions. Of two ways through the code the longer
one counts, a loop counts as often as it is said to turn, and cold instructions count nothing.
"""

import collections
import dataclasses


@dataclasses.dataclass
class Instruction:
    """One instruction of one item: kind as in report.KINDS; width: bytes an item of a memory
    access; fma: fused multiply-adds an item; frames: ((file, line), ...) innermost first; ends:
    nothing follows it; targets: labels it may jump to; callee: the function it calls. Of flight.py:
    names: what it reads or writes, which it waits for; fills: what a load writes; left: accesses
    that may still be open behind a wait."""
    word: str
    kind: str
    width: int = 0
    fma: float = 0.0
    frames: tuple = ()
    targets: tuple = ()
    ends: bool = False
    callee: str = ""
    mark: str = ""
    names: frozenset = frozenset()
    fills: frozenset = frozenset()
    left: int = None


class Loop:
    def __init__(self, header, blocks):
        self.header, self.blocks = header, blocks
        self.parent, self.children = None, []
        self.runs = None        # how often the body runs in a step of the steady loop
        self.why = ""
        self.text = ""          # place of the `for` that says how often it turns

    def own(self):
        """Blocks that lie in no loop inside it."""
        inner = set().union(*(child.blocks for child in self.children)) if self.children else set()
        return self.blocks - inner


class Graph:
    """blocks: lists of instructions; follow: the blocks that may come after each."""

    def __init__(self, items):
        self.blocks, self.follow = [[]], []
        at = {}
        for item in items:
            if isinstance(item, str):
                if self.blocks[-1]:
                    self.blocks.append([])
                at[item] = len(self.blocks) - 1
                continue
            self.blocks[-1].append(item)
            if item.targets or item.ends:
                self.blocks.append([])
        for number, block in enumerate(self.blocks):
            last = block[-1] if block else None
            follow = [at[target] for target in last.targets if target in at] if last else []
            if not (last and last.ends) and number + 1 < len(self.blocks):
                follow.append(number + 1)
            self.follow.append(sorted(set(follow)))
        self.order = self.reverse_postorder()
        self.place = {block: place for place, block in enumerate(self.order)}
        self.loops = self.find_loops()

    def reverse_postorder(self):
        seen, order, stack = {0}, [], [(0, iter(self.follow[0]))]
        while stack:
            block, rest = stack[-1]
            for after in rest:
                if after not in seen:
                    seen.add(after)
                    stack.append((after, iter(self.follow[after])))
                    break
            else:
                order.append(block)
                stack.pop()
        return order[::-1]

    def dominators(self):
        """The immediate dominator of each block (Cooper, Harvey and Kennedy 2001)."""
        before = collections.defaultdict(list)
        for block in self.order:
            for after in self.follow[block]:
                before[after].append(block)
        top, changed = {0: 0}, True
        while changed:
            changed = False
            for block in self.order[1:]:
                new = None
                for one in before[block]:
                    if one not in top:
                        continue
                    two = new if new is not None else one
                    while one != two:
                        while self.place[one] > self.place[two]:
                            one = top[one]
                        while self.place[two] > self.place[one]:
                            two = top[two]
                    new = one
                if top.get(block) != new:
                    top[block], changed = new, True
        return top, before

    def find_loops(self):
        """Natural loops by back edges, one a header, inner ones after outer ones."""
        top, before = self.dominators()
        bodies = {}
        for block in self.order:
            for header in self.follow[block]:
                above = block
                while above != header and above != 0:
                    above = top[above]
                if above != header:
                    continue
                body = bodies.setdefault(header, {header})
                stack = [block]
                while stack:
                    one = stack.pop()
                    if one not in body:
                        body.add(one)
                        stack.extend(before[one])
        loops = [Loop(header, body) for header, body in bodies.items()]
        loops.sort(key=lambda loop: -len(loop.blocks))
        for number, loop in enumerate(loops):
            for outer in reversed(loops[:number]):
                if loop.header in outer.blocks and loop.blocks < outer.blocks:
                    loop.parent = outer
                    outer.children.append(loop)
                    break
        return loops

    def instructions(self, blocks):
        for block in sorted(blocks):
            yield from self.blocks[block]

    def turn(self, loop, count, whole=False):
        """What the longest way through one turn of a loop executes, as count(block) has it: a
        Counter; loops inside count by their runs. whole: to any way out, not only to the next
        turn."""
        unit, cost = {}, {}
        for block in loop.own():
            unit[block], cost[block] = block, count(self.blocks[block])
        for child in loop.children:
            name = ("loop", child.header)
            turns = child.runs / loop.runs if loop.runs else 0.0
            inner = self.turn(child, count)
            cost[name] = collections.Counter({key: n * turns for key, n in inner.items()})
            unit.update((block, name) for block in child.blocks)
        best, done = {unit[loop.header]: (0, None)}, {}
        order = []
        for block in self.order:
            if block in loop.blocks and unit[block] not in done:
                done[unit[block]] = True
                order.append(unit[block])
        size = {name: sum(n for n in counts.values()) for name, counts in cost.items()}
        rank = {name: number for number, name in enumerate(order)}
        edges = collections.defaultdict(set)
        latches = set()
        for block in loop.blocks:
            for after in self.follow[block]:
                if after == loop.header:
                    latches.add(unit[block])
                elif after in loop.blocks and rank[unit[after]] > rank[unit[block]]:
                    edges[unit[block]].add(unit[after])
                elif whole and after not in loop.blocks:
                    latches.add(unit[block])
        for name in order:
            if name not in best:
                continue
            length = best[name][0] + size[name]
            for after in edges[name]:
                if after not in best or best[after][0] < length:
                    best[after] = (length, name)
        ends = [name for name in latches if name in best] or list(best)
        last = max(ends, key=lambda name: best[name][0] + size[name])
        total = collections.Counter()
        while last is not None:
            total.update(cost[last])
            last = best[last][1]
        return total

    def through(self, count):
        """The longest way through the whole function; loops count once a turn that is known."""
        whole = Loop(0, set(self.order))
        whole.runs = 1.0
        whole.children = [loop for loop in self.loops if loop.parent is None]
        for loop in self.loops:
            if loop.runs is None:
                loop.runs = 1.0
        exits = [b for b in self.order if not self.follow[b]]
        for block in exits:     # a way out of the function is a way on
            self.follow[block] = []
        return self.turn(whole, count, True)
