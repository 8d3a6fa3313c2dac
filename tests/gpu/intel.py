# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Intel: ocloc, and the assembly that the graphics compiler leaves on its way. Its text names files
and lines of instructions; their addresses, by which the line table says what was inlined where,
follow from their sizes (8 bytes if compacted, else 16).
"""

import re

from flow import Instruction

CODE = re.compile(r"(\([^)]*\))?\s*([a-z][\w.&|^~()]*)(?:\s+\((\d+)\|M\d+\))?\s*(.*)")
TYPE = re.compile(r"(?:r\d+|acc\d+|null|f\d|a\d)[\w.]*(?:<[^>]*>)?:(\w+)")
CONTROL = {"goto", "goto.b", "join", "jmpi", "if", "else", "endif", "while", "break", "cont", "brd",
           "brc", "call", "calla", "ret", "halt"}
FLOATS = {"f", "hf", "df", "bf"}
UNITS = {"d8": 1, "d16": 2, "d32": 4, "d64": 8, "d8u32": 1, "d16u32": 2}
LSC = re.compile(r"(load|store)\.(slm|ugm|tgm)\.(d\d+(?:u32)?)(?:x(\d+))?(t?)\.(a32|a64)")
OLD = re.compile(r"wr:(\d+)h?\+(\d+), rd:(\d+)[;] (.*?)\s*(//|$)")


def message(word, rest, lanes, grf):
    """(kind, bytes an item) of a message to memory; None: it is none."""
    match = LSC.match(word)
    if match:
        way, place, unit, count, whole, space = match.groups()
        width = UNITS.get(unit, 4) * int(count or 1)
        if whole:       # one block for all items
            width = max(width // lanes, 1)
        name = "local" if place == "slm" else "private" if space == "a32" else "global"
        return f"{name}_{way}", width
    if not word.startswith("send"):
        return None
    match = OLD.search(rest)
    descriptor = re.search(r"0x[0-9A-F]+\s+(0x[0-9A-F]{8})", rest)
    if not match or not descriptor:
        return "other", 0
    written, read, said = int(match[2]), int(match[3]), match[4]
    if "barrier" in said or "fence" in said or "atomic" in said or "end of" in said:
        return ("barrier" if "signal barrier" in said else "other"), 0
    surface = int(descriptor[1], 16) & 0xFF
    name = "global" if "a64" in said else {0xFE: "local", 0xFF: "private"}.get(surface, "global")
    way = "load" if "read" in said else "store"
    narrow = re.search(r"\b(8|16)b\b", said)
    width = int(narrow[1]) // 8 if narrow else max(grf * (read or written) // lanes, 1)
    return f"{name}_{way}", width


def kind(guard, word, size, rest, lanes, grf):
    """(kind, bytes an item, fused multiply-adds an item)."""
    found = message(word, rest, lanes, grf)
    if found:
        return *found, 0.0
    name = word.split(".")[0]
    if word in CONTROL or name in ("goto", "call"):
        return "branch", 0, 0.0
    if name in ("sync", "nop", "wait"):
        return ("barrier" if word == "sync.bar" else "wait"), 0, 0.0
    if name in ("dpas", "dpasw"):
        shape = re.match(r"dpasw?\.(\d+)x(\d+)", word)
        return "mma", 0, 2.0 * int(shape[1]) * int(shape[2]) * size / lanes
    types = TYPE.findall(rest)
    to = types[0] if types else ""
    if size == 1 or (guard == "(W)" and size < lanes):
        return "scalar", 0, 0.0
    if name in ("mad", "madm", "mac") and to in FLOATS:
        return "fma", 0, size / lanes
    if name == "math":
        return "float", 0, 0.0
    if name == "mov":
        if len({t in FLOATS for t in types[:2]}) == 2 or (
                to in FLOATS and len(set(types[:2])) == 2):
            return "convert", 0, 0.0
        return "move", 0, 0.0
    return ("float" if set(types) & FLOATS else "int"), 0, 0.0


def instruction(match, where, lanes, grf):
    guard, word, size, rest = match.groups()
    one = Instruction(word, *kind(guard, word, int(size or 1), rest, lanes, grf), (where,))
    name = word.split(".")[0]
    code = rest.split("//")[0].split("{")[0].split()
    if name in ("call", "calla"):
        one.callee = code[-1]
    elif word in CONTROL or name == "goto":
        one.targets = tuple(w for w in code if re.fullmatch(r"[A-Za-z_]\w*", w) and w != "null")
        flows = guard in (None, "(W)")
        one.ends = (flows and name in ("jmpi", "goto", "brd")) or name == "ret"
    tokens = re.findall(r"\$(\d+)(?!\.src|\d)", " ".join(re.findall(r"\{[^}]*\}", rest)))
    one.names = frozenset(int(n) for n in tokens)       # of the scoreboard
    if one.kind == "global_load":
        one.fills = one.names
    if "{EOT" in rest or "EOT}" in rest or ",EOT" in rest:
        one.ends = True
    return one


def parse(text, lanes, grf):
    """({function: labels and instructions}, addresses in the same order)."""
    callees = set(re.findall(r"\bcall\w* \(\d+\|M\d+\)\s+\S+\s+([A-Za-z_]\w*)", text))
    items, places, at = [], [], 0
    functions = {"heed_kernel": items}
    file, line_number = "", 0
    for line in text.splitlines():
        if line.startswith("// File: "):
            file = line[9:].strip()
        match = re.match(r"// Line (\d+)", line)
        if match:
            line_number = int(match[1])
        if line.startswith("//") or not line.strip():
            continue
        label = re.match(r"([\w.$]+):", line)
        if label:
            if label[1] in callees:
                items = functions.setdefault(label[1], [])
            items.append(label[1])
            continue
        match = CODE.match(line.strip())
        if match:
            items.append(instruction(match, (file, line_number), lanes, grf))
            places.append(at)
        at += 8 if re.search(r"\{[^}]*Compacted", line) else 16
    return functions, places


def numbers(text, assembly, code, slots):
    """What the compiler says of the kernel: the binary's notes and the assembly's head. slots:
    threads that an execution unit holds when each has 128 registers."""
    def note(name):
        match = re.search(rf"\b{name}:\s+(\d+)", text)
        return int(match[1]) if match else 0

    def head(name):
        match = re.search(rf"^//\.{name} (\d+)", assembly, re.M)
        return int(match[1]) if match else 0

    lanes = note("simd_size") or 8
    match = re.search(r"usage:\s+private_space\s+size:\s+(\d+)", text)
    scratch = int(match[1]) if match else -(-head("private memory size") // lanes)
    return {
        "registers": note("grf_count"), "scratch": scratch, "spills": head("spill size"),
        "local": note("slm_size"), "wave": lanes, "code": code,
        "occupancy": slots * 128 // max(note("grf_count"), 128),
    }
