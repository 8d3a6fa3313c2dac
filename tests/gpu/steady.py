# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What an item executes for one block of 64 keys: the steady loop of an attention kernel.

The steady loop is the innermost one that holds products of both kinds, qk and pv. One turn of it is
a step: a block, or HK_BLOCKS of them, all of which are there. How often loops inside it turn: those
with products as often as the products of a step want (where several lie one behind the other, or are
alternatives, as often as makes the products of the way through a step right), those that stage K or V
as often as the bytes of a step want, others as the text of their `for` says; else once, and --explain
says so. All numbers are of a block.
"""

import collections

import flight
from flow import Graph

KEYS = 64                       # of a block
SIZES = {"1": 4, "2": 2, "3": 2}        # bytes of a number of K and V, by HK_KV

# Kinds of instructions, and which of them are vector instructions of a vendor.
KINDS = ["fma", "mma", "float", "int", "convert", "move", "local_load", "local_store",
         "global_load", "global_store", "private_load", "private_store", "barrier", "branch",
         "scalar", "wait", "other"]
WORK = {"fma", "mma", "float", "int", "convert", "move"}
MEMORY = {"local_load", "local_store", "global_load", "global_store", "private_load",
          "private_store", "other"}
VECTOR = {"amd": WORK, "nvidia": WORK | MEMORY, "intel": WORK | MEMORY | {"scalar"}}


class Needs:
    """What a step asks of an item: products by mark, bytes by mark."""

    def __init__(self, texts):
        self.threads = threads = texts.number("HK_THREADS") or 256
        rows = texts.number("HK_ROWS") or texts.number("HK_GROUP_ROWS") or 64
        width = texts.width()
        size = SIZES.get(texts.macros.get("HK_KV", ""), 0)
        self.blocks = texts.blocks()
        each = self.blocks * KEYS * width / threads
        self.products = {"qk": rows * each, "pv": rows * each}
        self.bytes = {"stage_k": each * size, "stage_v": each * size}
        self.said = (f"{rows} rows and {threads} items a group, steps of {self.blocks} blocks of "
                     f"{KEYS} keys, d = d_v = {width}: {rows * each:g} fused multiply-adds of qk "
                     f"and as many of pv an item and a step")


class Steady:
    def __init__(self, vendor, functions, texts):
        self.vendor, self.texts, self.needs = vendor, texts, Needs(texts)
        self.functions, self.costs, self.notes = functions, {}, []
        for items in functions.values():
            self.mark(items)
        self.total, self.loop, self.held = collections.Counter(), None, None
        found = self.find()
        if found:
            self.graph, self.loop = found
            self.weigh(None)
            if any(self.excess(mark) > 1.02 for mark in self.needs.products):
                self.weigh("largest")
            self.share()

    def mark(self, items):
        """Marks each instruction. Those that a compiler made of several have no line, or only that
        of what they have in common: they have the mark of the products of their straight piece of
        code, or of what stands before them in it."""
        piece = []
        for one in [*items, "end"]:
            if not isinstance(one, str):
                one.mark = self.texts.mark(one.frames)
                piece.append(one)
            if isinstance(one, str) or one.targets or one.ends:
                self.mark_piece(piece)
                piece = []

    def mark_piece(self, piece):
        products = collections.Counter(one.mark for one in piece
                                       if one.fma and one.mark in self.needs.products)
        before = products.most_common(1)[0][0] if products else ""
        for one in piece:
            if one.mark and not products:
                before = one.mark
            elif not one.mark and (products or not (one.frames and one.frames[0][1])):
                one.mark = before

    def find(self):
        """The graph and the innermost loop that holds the products of both kinds."""
        for items in self.functions.values():
            marks = {one.mark for one in items if not isinstance(one, str) and one.fma}
            if not set(self.needs.products) <= marks:
                continue
            graph = Graph(items)
            best = None
            for loop in graph.loops:
                fma = [one.mark for one in graph.instructions(loop.blocks) if one.fma]
                if set(self.needs.products) <= set(fma) and \
                        (best is None or len(loop.blocks) < len(best.blocks)):
                    best = loop
            if best:
                return graph, best
        return None

    def inside(self, loop):
        for child in loop.children:
            yield child
            yield from self.inside(child)

    def own(self, loop, mark):
        return sum(one.fma for one in self.graph.instructions(loop.own()) if one.mark == mark)

    def weigh(self, only):
        """How often each loop runs, and what a turn of the steady loop costs."""
        self.loop.runs, self.loop.why = 1.0, "steady"
        self.notes = []
        most = {mark: max((self.own(loop, mark) for loop in self.inside(self.loop)), default=0)
                for mark in self.needs.products}
        for loop in self.inside(self.loop):
            loop.runs, loop.why = self.turns(loop, most if only else None)
        self.total = self.graph.turn(self.loop, self.count)
        self.notes = [(loop, self.where(loop)) for loop in self.inside(self.loop)]

    def even(self):
        return all(abs(self.excess(mark) - 1) < 0.02 for mark in self.needs.products)

    def share(self):
        """Loops with products turn as much less, or more often, as their products on the way through
        a step are more, or fewer, than a step wants. Where that does not come to an end another
        kernel than the one that is looked at lies in the way: then all is as it was."""
        before = {loop: loop.runs for loop in self.inside(self.loop)}
        for _ in range(4):
            if self.even():
                return
            self.scale()
        if not self.even():
            for loop, runs in before.items():
                loop.runs = runs
            self.total = self.graph.turn(self.loop, self.count)

    def scale(self):
        by = {mark: self.excess(mark) for mark in self.needs.products}
        for loop in self.inside(self.loop):
            mark = next((mark for mark in by if self.own(loop, mark)), None)
            if mark and by[mark] > 0:
                for one in [loop, *self.inside(loop)]:
                    one.runs /= by[mark]
        self.total = self.graph.turn(self.loop, self.count)

    def turns(self, loop, most):
        for mark, need in self.needs.products.items():
            fma = self.own(loop, mark)
            if fma and most and fma < most[mark]:
                return 0.0, f"{mark}: a rest"
            if fma:
                return (need - self.own(self.loop, mark)) / fma, f"{mark}: {fma:g} a turn"
        instructions = list(self.graph.instructions(loop.own()))
        holds = any(self.own(child, mark) for child in self.inside(loop)
                    for mark in self.needs.products)
        if not holds and 2 * sum(one.mark == "cold" for one in instructions) > len(instructions):
            return 0.0, "cold"
        turns, loop.text = self.said(loop)
        if turns is not None and loop.text == loop.parent.text:
            turns = 1       # two loops of machine code for one of the text: the outer one counts
        most = turns * loop.parent.runs if turns is not None else None
        marks = collections.Counter(one.mark for one in instructions if one.mark)
        for mark, need in self.needs.bytes.items():
            loaded = self.loaded(instructions, mark)
            if loaded and need and not holds and marks.most_common(1)[0][0] == mark:
                runs = need / loaded    # compilers take several turns of the text at once
                return min(runs, most or runs), f"{mark}: {loaded} bytes a turn"
        if most is not None:
            return most, f"its text: {turns} ({loop.text})"
        return loop.parent.runs, "nobody knows: once"

    def loaded(self, instructions, mark):
        """Bytes of K or V that a turn loads: in the widest loads, or number by number."""
        size = SIZES[self.texts.macros["HK_KV"]] if self.needs.bytes[mark] else 0
        widths = [one.width for one in instructions
                  if one.kind == "global_load" and one.mark == mark]
        wide = [width for width in widths if width == 16]
        return sum(wide or (width for width in widths if width == size))

    def text_loops(self):
        """{(file, line): instructions} of the loops of the text, by identity."""
        held = collections.defaultdict(set)
        for one in self.graph.instructions(self.loop.blocks):
            for place in self.texts.loops(one.frames):
                held[place].add(id(one))
        return held

    def said(self, loop):
        """What the text says of how often a loop turns: that of its loops whose instructions are
        most nearly those of the loop of machine code."""
        if self.held is None:
            self.held = self.text_loops()
        mine = {id(one) for one in self.graph.instructions(loop.blocks)}
        best, most = None, 0.0
        for place, theirs in self.held.items():
            alike = len(mine & theirs) / len(mine | theirs)
            if alike > most:
                best, most = place, alike
        if best is None or most < 0.3:
            return None, ""
        return self.texts.turns(*best), self.texts.place(*best)

    def where(self, loop):
        for one in self.graph.blocks[loop.header]:
            for name, line in one.frames[:1]:
                if line:
                    return self.texts.place(name, line)
        return "?"

    def count(self, block):
        """(kind, width, mark): instructions of a block that are not cold, and calls' whole cost."""
        counts = collections.Counter()
        for one in block:
            if one.mark == "cold":
                continue
            part = self.texts.part(one.frames)
            counts[one.kind, one.width, one.mark] += part
            if one.fma and one.mark in self.needs.products:
                counts["work", 0, one.mark] += part * one.fma
            if one.callee in self.functions:
                counts.update(self.called(one.callee))
        return counts

    def count_places(self, block):
        """As count, by the functions of the text beside."""
        counts = collections.Counter()
        for one in block:
            if one.mark != "cold":
                place = " < ".join(self.texts.function(*frame) for frame in one.frames[:2])
                counts[one.kind, one.width, one.mark, place] += self.texts.part(one.frames)
        return counts

    def called(self, name):
        if name not in self.costs:
            self.costs[name] = collections.Counter()    # a function that calls itself ends here
            self.costs[name] = Graph(self.functions[name]).through(self.count)
        return self.costs[name]

    def excess(self, mark):
        """Products on the way through a step over those that a step needs."""
        return self.total["work", 0, mark] / self.needs.products[mark]

    def size(self):
        """Instructions of all functions."""
        return sum(not isinstance(one, str) for items in self.functions.values() for one in items)

    def results(self):
        if not self.loop:
            return {}
        kinds = collections.Counter()
        marks = collections.Counter()
        loads = products = 0.0
        widths = collections.Counter()
        total = {key: n / self.needs.blocks for key, n in self.total.items()}
        for (kind, width, mark), n in total.items():
            if kind == "work":
                continue
            kinds[kind] += n
            if kind in ("local_load", "global_load", "local_store"):
                widths[f"{kind}_{width}"] += n
            if kind in VECTOR[self.vendor]:
                marks[mark or "else"] += n
            if kind == "local_load":
                loads += n * max(width / 16, 1.0)
            if kind in ("fma", "mma") and mark in self.needs.products:
                products += n
        vector = sum(n for kind, n in kinds.items() if kind in VECTOR[self.vendor])
        work = sum(total.get(("work", 0, mark), 0) for mark in self.needs.products)
        loop = list(self.graph.instructions(self.loop.blocks))
        size = 2 * self.needs.bytes["stage_k"] / self.needs.blocks      # of K and V
        return {
            "threads": self.needs.threads, "flight": flight.most(self.graph, self.loop),
            "bytes": size, "barriers": self.barriers(kinds["barrier"]),
            "hot": sum(one.mark != "cold" for one in loop) / self.size(),
            "mma": kinds["mma"], "vector": vector, "fma_share": products / vector if vector else 0.0,
            "fma_apart": work / (vector - products + work) if vector else 0.0,
            "loads_per_fma": loads / work if work else 0.0,
            "kinds": {kind: round(kinds[kind], 1) for kind in KINDS if kinds[kind]},
            "widths": {name: round(n, 1) for name, n in sorted(widths.items())},
            "marks": {mark: round(n, 1) for mark, n in sorted(marks.items())},
            "products": {mark: round(self.excess(mark), 3) for mark in self.needs.products},
        }

    def barriers(self, kinds):
        """Barriers of a block; Intel's are a signal and a wait."""
        return kinds / 2 if self.vendor == "intel" else kinds

    def explain(self):
        yield self.needs.said
        if not self.loop:
            yield "no loop holds products of both kinds"
            return
        yield f"steady loop: {self.where(self.loop)}, {len(self.loop.blocks)} blocks"
        for loop, where in self.notes:
            if loop.why != "cold":
                yield f"  loop at {where}: {loop.runs:g} runs a step ({loop.why})"
        for mark in self.needs.products:
            yield f"products of {mark} on the way, over those needed: {self.excess(mark):.3f}"
        yield "vector instructions a step by function, the first twelve:"
        places = collections.Counter()
        for (kind, _, _, place), n in self.graph.turn(self.loop, self.count_places).items():
            if kind in VECTOR[self.vendor]:
                places[place] += n
        for place, n in places.most_common(12):
            yield f"  {n:8.1f}  {place}"
