# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA: nvcc and nvdisasm; the machine code's text and its line table."""

import re

from flow import Instruction

FLOAT = {"FADD", "FMUL", "FMNMX", "FMNMX3", "FSETP", "FSEL", "FSET", "FCHK", "FSWZADD", "MUFU",
         "FRND", "HADD2", "HMUL2", "HSETP2", "HMNMX2", "FADD2", "FMUL2", "DADD", "DMUL", "DSETP"}
FMA = {"FFMA": 1.0, "FFMA2": 2.0, "FFMA32I": 1.0, "HFMA2": 2.0}
CONVERT = {"F2I", "I2F", "F2F", "I2I", "I2FP", "F2FP", "F2IP", "I2IP", "FRND"}
MOVE = {"MOV", "PRMT_MOV", "S2R", "CS2R", "R2P", "P2R", "SHFL", "MOV32I", "MOVM", "LDC", "R2UR",
        "B2R", "S2UR"}
BRANCH = {"BRA", "BRX", "CALL", "RET", "EXIT", "BSSY", "BSYNC", "BREAK", "WARPSYNC", "JMP", "JMX",
          "YIELD", "KILL", "BMOV", "BPT", "RPCMOV", "NANOSLEEP"}
MEMORY = {"LDS": "local_load", "STS": "local_store", "LDG": "global_load", "STG": "global_store",
          "LD": "global_load", "ST": "global_store", "LDL": "private_load",
          "STL": "private_store", "LDGSTS": "global_load", "LDSM": "local_load"}
LINE = re.compile(r'\s*//## File "([^"]+)", line (\d+)')
CODE = re.compile(r"\s+/\*([0-9a-f]{4,})\*/\s+(@!?U?P[0-9T]\w*\s+)?([A-Z][A-Z0-9_.]*)\s*"
                  r"([^;]*);(.*)")

# A multiprocessor by compute capability: local memory in bytes for all groups, threads, groups.
# 64 K registers in each, given out 256 at a time a warp; 1 KiB of local memory more a group.
MACHINES = {80: (164 << 10, 2048, 32), 90: (228 << 10, 2048, 32), 100: (228 << 10, 2048, 32)}


def kind(word, rest):
    """(kind, bytes an item, fused multiply-adds an item)."""
    name, *parts = word.split(".")
    if name in ("HMMA", "IMMA", "QMMA", "OMMA", "DMMA"):
        match = re.fullmatch(r"(16)(8)(\d+)", next((p for p in parts if p.isdigit()), ""))
        return "mma", 0, int(match[1]) * int(match[2]) * int(match[3]) / 32 if match else 0.0
    if name.endswith(("GMMA", "UTCHMMA")):
        return "mma", 0, 0.0
    if name in MEMORY:
        size = next((p for p in parts if p in ("128", "64", "U8", "S8", "U16", "S16")), "32")
        width = {"U8": 1, "S8": 1, "U16": 2, "S16": 2}.get(size) or int(size) // 8
        return MEMORY[name], width, 0.0
    if name == "BAR":
        return "barrier", 0, 0.0
    if name in BRANCH:
        return "branch", 0, 0.0
    if name == "HFMA2" and "RZ, RZ" in rest:        # a constant
        return "move", 0, 0.0
    if name in FMA:
        return "fma", 0, FMA[name]
    if name in FLOAT:
        return "float", 0, 0.0
    if name in CONVERT:
        return "convert", 0, 0.0
    if name in MOVE or word.startswith("IMAD.MOV"):
        return "move", 0, 0.0
    if name.startswith("U") or name in ("VOTEU", "REDUX"):
        return "scalar", 0, 0.0
    if name in ("NOP", "DEPBAR", "LDGDEPBAR"):
        return "wait", 0, 0.0
    if name.startswith(("ATOM", "RED", "MEMBAR", "CCTL", "SYNCS", "FENCE", "ERRBAR")):
        return "other", 0, 0.0
    return "int", 0, 0.0


def parse(text):
    """{function: labels and instructions} of nvdisasm's text."""
    starts = set(re.findall(r"^\s+\.type\s+(\S+),@function", text, re.M))
    starts |= {"heed_kernel"}
    functions, items, frames, fresh = {}, None, (), False
    for line in text.splitlines():
        match = LINE.match(line)
        if match:
            one = (match[1], int(match[2]))
            frames = frames + (one,) if fresh else (one,)
            fresh = True
            continue
        fresh = False
        label = re.match(r"([.\w$]+):\s*$", line)
        if label:
            if label[1] in starts:
                items = functions.setdefault(label[1], [])
            elif items is not None and not label[1].startswith(".text."):
                items.append(label[1])
            continue
        match = CODE.match(line)
        if match and items is not None:
            items.append(instruction(match, frames))
    return functions


def registers(word, rest, one):
    """Numbers of those that an instruction names; memory accesses name the first of several, as
    pairs and the fragments of matrices do."""
    wide = max(one.width // 4, 2 if ".64" in word else 1, 4 if one.kind == "mma" else 1)
    rest = re.sub(r"\[[^]]*\]", lambda place: place[0].replace("R", "A"), rest)
    found = {int(n) + i for n in re.findall(r"\bR(\d+)", rest) for i in range(wide)}
    found |= {int(n) + i for n in re.findall(r"\bA(\d+)", rest) for i in range(2)}
    return frozenset(found)


def instruction(match, frames):
    _, guard, word, rest, note = match.groups()
    one = Instruction(word, *kind(word, rest), frames)
    one.names = registers(word, rest, one)
    if one.kind == "global_load":
        one.fills = registers(word, rest.split(",")[0], one)
    name = word.split(".")[0]
    targets = re.findall(r"`\(([^)]+)\)", rest)
    if name == "CALL" and targets and targets[0].startswith(".L"):     # a long jump
        one.targets = tuple(targets)
        one.ends = not guard
    elif name == "CALL":
        one.callee = targets[0] if targets else ""
    elif name == "BRA":
        one.targets = tuple(targets)
        one.ends = not guard and not re.match(r"\s*!?U?P[0-9]", rest) and ".DIV" not in word
    elif name == "BRX":
        one.targets = tuple(re.findall(r"\.L\w+", rest + note))
        one.ends = True
    elif name in ("EXIT", "RET", "KILL"):
        one.ends = not guard
    return one


def occupancy(machine, registers, local, threads):
    """Warps that a quarter of a multiprocessor holds."""
    memory, most, groups = MACHINES[machine]
    warps = -(-threads // 32)
    each = -(-registers * 32 // 256) * 256
    fit = min(groups, most // threads, (65536 // 4 // each if each else 16) * 4 // warps,
              memory // (local + 1024))
    return fit * warps / 4


def numbers(said, machine, threads, code):
    """What ptxas says of the kernel (-Xptxas -v)."""
    entry = said[said.find("Compiling entry function 'heed_kernel'"):]

    def first(pattern):
        match = re.search(pattern, entry)
        return int(match[1]) if match else 0

    registers, local = first(r"Used (\d+) registers"), first(r"(\d+) bytes smem")
    spills = first(r"(\d+) bytes spill stores") + first(r"(\d+) bytes spill loads")
    return {
        "registers": registers, "scratch": first(r"(\d+) bytes stack frame"), "spills": spills,
        "local": local, "wave": 32, "code": code,
        "occupancy": occupancy(machine, registers, local, threads),
    }
