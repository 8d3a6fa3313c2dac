#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Memories of a document's segments (Cao and Wang 2023, section 3) against binary64, and bits.

segments.py SEGMENTS [--all]: the states of segments with each memory, of models with norms before
and behind, against equations 2 to 12 with means and identities for what is learnt; equal bytes on
devices and for numbers of threads; an empty memory changes nothing, a reset one is an empty one.
The oracle keeps lists of rows: it knows no rings and no lengths. Planted faults must be found.
"""

import os
import shutil
import subprocess
import sys

import running
import numpy
import checkpoints
import oracle
import states
import tape

tape.ACTS["tanh"] = lambda x: (numpy.tanh(x), 1 - numpy.tanh(x) ** 2, 1.8e-7 * abs(numpy.tanh(x)))
tape.ACTS["sigmoid"] = lambda x: (sigmoid(x), sigmoid(x) * sigmoid(-x), 2.2e-7 * sigmoid(x))


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


# ---- the oracle ----

def add(t, a, b):
    """The sum, rounded once."""
    value = a.value + b.value
    return tape.Node(t, value, tape.U * abs(value), [(a, lambda c: c), (b, lambda c: c)])


def rest(t, a):
    """1 - a."""
    return tape.Node(t, 1 - a.value, tape.U * abs(1 - a.value), [(a, lambda c: -c)])


def means(t, x, ends):
    """Of rows: a row for each group, which ends where `ends` says."""
    n = len(x.value)
    starts = [0, *ends[:-1]]
    groups = numpy.array([[1.0 * (a <= i < b) for i in range(n)] for a, b in zip(starts, ends)])
    counts = groups.sum(1, keepdims=True)
    return t.scale(t.sums(x, groups), 1 / counts)


class Compressive:
    """Lists of nodes, each some rows of one segment."""

    def __init__(self, rows, ratio, fault=None):
        self.room, self.old_room, self.ratio = rows - rows // 2, rows // 2, ratio
        self.new, self.old, self.fault = None, None, fault

    def keys(self, t, inner):
        """Equation 7."""
        old = None if self.fault == "older rows are not seen" else self.old
        return t.join(*[part for part in (old, self.new, inner) if part])

    def keep(self, t, inner):
        """Equations 2 to 6; the groups end with the newest row."""
        both = t.join(self.new, inner) if self.new else inner
        n = len(both.value)
        gone = max(n - self.room, 0)
        if gone:
            first = gone % self.ratio or self.ratio
            ends = list(range(first, gone + 1, self.ratio))
            if self.fault == "groups from the oldest row on":
                ends = [*range(self.ratio, gone, self.ratio), gone]
            packed = means(t, t.rows(both, 0, gone), ends)
            old = t.join(self.old, packed) if self.old else packed
            m = len(old.value)
            room = self.old_room + (self.fault == "a row more")
            self.old = t.rows(old, max(m - room, 0), m)
        self.new = t.rows(both, gone, n)


class Attentive:
    """M of equation 9, or None."""

    def __init__(self, rows, fault=None):
        self.room, self.memory, self.fault = rows, None, fault

    def keep(self, t, own, heads):
        """Equations 9 to 12."""
        n = len(own.value)
        share = -(-n // self.room)
        if self.memory is None:
            self.memory = means(t, own, [*range(share, n, share), n])
        m = self.memory
        everyone = numpy.ones((len(m.value), n), bool)
        total = add(t, m, t.attend(m, own, own, heads, everyone))
        update, gate = t.act(total, "tanh"), t.act(total, "sigmoid")
        if self.fault == "the gate of MART":
            gate = rest(t, gate)
        if self.fault == "no gate":
            self.memory = update
            return
        self.memory = add(t, t.multiply(gate, update), t.multiply(rest(t, gate), m))


class Salient:
    """Rows of states; none keep anything."""

    def __init__(self, fault=None):
        self.states, self.fault = None, fault

    def keys(self, t, inner):
        """Section 3.2."""
        if self.states and self.fault == "a row less":
            return t.join(t.rows(self.states, 1, len(self.states.value)), inner)
        return t.join(self.states, inner) if self.states else inner

    def keep(self, _t, _inner):
        """Nothing."""


class Reader:
    """A model that reads segments one after another, all on one tape."""

    def __init__(self, model, how, fault=None):
        kind, rows, ratio, layers = how
        self.model, self.attentive, self.fault = model, kind == "attentive", fault
        self.tape = tape.Tape()
        n = model.settings["layers"]
        make = {"attentive": lambda: Attentive(rows, fault), "salient": lambda: Salient(fault),
                "compressive": lambda: Compressive(rows, ratio, fault)}[kind]
        self.kept = {i: make() for i in range(n - layers, n)}

    def set(self, first, end, ids):
        """Salient states: rows of a text's."""
        states = self.tape.rows(self.model.encode(self.tape, ids), first, end)
        for kept in self.kept.values():
            kept.states = states

    def layer(self, x, i):
        """One layer of the encoder."""
        t, model, s = self.tape, self.model, self.model.settings
        layer, kept = f"encoder.{i}.", self.kept.get(i)
        first = s["family"] in oracle.NORM_FIRST
        inner = model.norm(t, x, layer + "norm") if first else x
        keys = kept.keys(t, inner) if kept and not self.attentive else inner
        q = model.linear(t, inner, layer + "q")
        k, v = (model.linear(t, keys, layer + part) for part in "kv")
        o = t.attend(q, k, v, s["heads"], numpy.ones((len(q.value), len(k.value)), bool))
        if kept and not self.attentive:
            kept.keep(t, inner)
        x = model.linear(t, o, layer + "o", x)
        if not first:
            x = model.norm(t, x, layer + "norm")
        if kept and self.attentive and kept.memory:
            m = kept.memory
            everyone = numpy.ones((len(x.value), len(m.value)), bool)
            heads = 1 if self.fault == "one head reads" else s["heads"]
            x = add(t, x, t.attend(x, m, m, heads, everyone))
        x = model.hidden(t, x, layer)
        if kept and self.attentive:
            kept.keep(t, model.linear(t, o, layer + "o"), s["heads"])
        return x

    def read(self, ids):
        """The states of the next segment: a node."""
        x = self.model.begin(self.tape, "encoder", ids)
        for i in range(self.model.settings["layers"]):
            x = self.layer(x, i)
        return self.model.norm(self.tape, x, "encoder.final")


FAULTS = {"compressive": ["older rows are not seen", "groups from the oldest row on", "a row more"],
          "attentive": ["the gate of MART", "no gate", "one head reads"],
          "salient": ["a row less"]}


# ---- heed ----

class Segments:
    """The program of tests on one device."""

    def __init__(self, path):
        self.path = path

    def lines(self, folder, how, commands, device="cpu", threads=1):
        """What it writes: a line for each command. how: kind, rows, ratio, layers."""
        done = subprocess.run(
            [self.path, folder, device, str(threads), *map(str, how)], capture_output=True,
            input="\n".join(commands) + "\n", text=True,
            env=os.environ | {"OMP_WAIT_POLICY": "passive"})
        if done.returncode:
            raise running.Failed(f"{how}: {done.stderr}")
        return done.stdout.split("\n")[:-1]


def numbers(line, channels):
    return numpy.array([float.fromhex(word) for word in line.split()]).reshape(-1, channels)


def said(command, ids):
    return " ".join([command, *map(str, ids)])


# ---- the test ----

def asked(how, texts, kept):
    """Commands that read texts; salient rows of `kept` come before the second one."""
    commands = [said("encode", ids) for ids in texts]
    if how[0] == "salient":
        commands.insert(1, said("set", kept))
    return commands


def against_oracle(judge, segments, what, folder, how, texts, kept, rows):
    """States of every segment, of these rows, and faults that must show in some of them."""
    model = oracle.Model(*checkpoints.read(folder))
    readers = {fault: Reader(model, how, fault) for fault in [None, *FAULTS[how[0]]]}
    got = segments.lines(folder, how, asked(how, texts, kept))
    got = [numbers(line, model.settings["model"])[rows] for line in got if line]
    seen = set()
    for i, (ids, states_) in enumerate(zip(texts, got)):
        if how[0] == "salient" and i == 1:
            for reader in readers.values():
                reader.set(kept[0], kept[1], kept[2:])
        want = {fault: reader.read(ids) for fault, reader in readers.items()}
        bound = readers[None].tape.bound(want[None], rows)
        judge.compare(f"{what}, {how}, segment {i}", states_, want[None].value[rows], bound)
        seen |= {fault for fault, x in want.items() if (abs(states_ - x.value[rows]) > bound).any()}
    for fault in FAULTS[how[0]]:
        judge.faults += 1
        if fault not in seen:
            judge.fail(f"{what}, {how}: a planted fault is not found: {fault}")


def same_bits(judge, segments, what, folder, how, texts, kept):
    """Devices, threads, the empty memory and a reset one. All of it in few processes."""
    decodes = checkpoints.family_of(what) not in checkpoints.ENCODERS
    reading = asked(how, texts, kept)
    writing = [line.replace("encode", "generate") for line in reading] if decodes else []
    commands = [*reading, "reset", *writing, "reset", *reading, said("states", texts[0]),
                said("states", texts[1]), *([said("write", texts[0])] if decodes else [])]
    lines = segments.lines(folder, how, commands)
    for device, threads in (("reference", 1), ("cpu:scalar", 1), ("cpu", 2)):
        if segments.lines(folder, how, commands, device, threads) != lines:
            judge.fail(f"{what}, {how}: {device}, {threads} threads: other bytes")
    n, second = len(reading), next(i for i, line in enumerate(reading) if i and "encode" in line)
    written, again = lines[n + 1:n + 1 + len(writing)], lines[n + 2 + len(writing):]
    if again[:n] != lines[:n] or not lines[0]:
        judge.fail(f"{what}, {how}: a memory that was reset gives other states")
    if again[n] != lines[0]:
        judge.fail(f"{what}, {how}: an empty memory changes states")
    if again[n + 1] == lines[second]:
        judge.fail(f"{what}, {how}: the second segment does not see the memory")
    if decodes and again[n + 2] != written[0]:
        judge.fail(f"{what}, {how}: an empty memory changes what is generated")


CASES = [("bart", ("compressive", 12, 4, 1)), ("bart", ("attentive", 6, 0, 2)),
         ("mbart", ("salient", 12, 0, 1))]
MORE = [("mbart", ("compressive", 9, 3, 2)), ("pegasus", ("attentive", 40, 0, 1)),
        ("mbart", ("salient", 12, 0, 2)),
        ("bert", ("compressive", 14, 2, 2)), ("roberta", ("attentive", 2, 0, 2)),
        ("pegasus", ("compressive", 2, 5, 1)), ("mbart", ("attentive", 17, 0, 2)),
        ("bart", ("compressive", 8, 6, 2)), ("bart-faint", ("attentive", 8, 0, 2)),
        ("bert", ("salient", 7, 0, 1))]


def main():
    """The exit status."""
    judge, folder = states.Judge(None), running.scratch()
    segments, thorough = Segments(sys.argv[1]), "--all" in sys.argv
    lengths, rows = (11, 14, 5, 9), slice(None if thorough else -3, None)
    try:
        for seed in range(5 if thorough else 1):
            for i, (variant, how) in enumerate(CASES + (MORE if thorough else [])):
                random = numpy.random.default_rng(100 * seed + i)
                where = checkpoints.write(folder / f"{seed}-{i}", variant, seed + i)
                texts = [states.text(random, n, 40) for n in lengths]
                kept = [3, 10, *states.text(random, 12, 40)]
                against_oracle(judge, segments, variant, where, how, texts, kept, rows)
                if seed == 0:
                    same_bits(judge, segments, variant, where, how, texts, kept)
    finally:
        shutil.rmtree(folder)
    print(f"{judge.numbers} numbers, error/bound at most {judge.worst:.3g}; {judge.faults} "
          f"planted faults; {judge.failures} failures")
    return 1 if judge.failures or not judge.numbers else 0


if __name__ == "__main__":
    sys.exit(main())
