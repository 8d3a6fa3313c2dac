# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""AMD: clang and the bitcode of rocm-device-libs; the assembly's text and its line table."""

import re

from flow import Instruction

FLOAT = re.compile(
    r"v_(pk_)?(add|sub|subrev|mul|max|min|max3|min3|rcp|rsq|sqrt|exp|log|rndne|trunc|floor|ceil"
    r"|fract|ldexp|frexp\w*|div_\w+|mul_legacy|med3|maximum|minimum|add3|cmp\w*)"
    r"(_iflag|_legacy)?_f(16|32|64)")
FMA = re.compile(r"v_(pk_)?(fma|fmac|mac|mad|fmamk|fmaak|madmk|madak|fma_mix\w*|fmac_dx9\w*)"
                 r"_f(16|32)")
DOT = re.compile(r"v_dot\d\w*")
MMA = re.compile(r"v_(?:s?mfmac?|wmma|swmmac)_\w+?_(\d+)x(\d+)x(\d+)")
MEMORY = re.compile(r"(ds|global|flat|buffer|scratch)_(read|write|load|store)(\d?)(?:st64)?_"
                    r"(?:\w+_)??(b128|b96|b64|b32|b16|b8|dwordx4|dwordx3|dwordx2|dword|[us]?short|"
                    r"[us]?byte|[ui]16|[ui]8)")
BYTES = {"b128": 16, "b96": 12, "b64": 8, "b32": 4, "b16": 2, "b8": 1, "dwordx4": 16, "dwordx3": 12,
         "dwordx2": 8, "dword": 4}
CODE = re.compile(r"(v|s|ds|global|flat|buffer|scratch)_")
WAIT = re.compile(r"\ts_wait(?:cnt.*\bvmcnt\(|_loadcnt\w* )(0x[0-9a-f]+|\d+)")
CALLEE = re.compile(r"([\w.$]+)@(?:rel32|gotpcrel32)@lo")


def memory(word):
    match = MEMORY.match(word)
    if not match:
        return None
    place, way, twice, size = match.groups()
    width = BYTES.get(size, 2 if "short" in size or "16" in size else 1) * (2 if twice else 1)
    place = {"ds": "local", "scratch": "private", "buffer": "private"}.get(place, "global")
    return f"{place}_{'load' if way in ('read', 'load') else 'store'}", width


def kind(word, wave):
    """(kind, bytes an item, fused multiply-adds an item)."""
    if word.startswith("v_"):
        match = MMA.match(word)
        if match:
            return "mma", 0, int(match[1]) * int(match[2]) * int(match[3]) / wave
        if FMA.match(word):
            return "fma", 0, 2.0 if "_pk_" in word else 1.0
        if FLOAT.match(word):
            return "float", 0, 0.0
        if word.startswith("v_cvt"):
            return "convert", 0, 0.0
        if re.match(r"v_(mov|pk_mov|accvgpr|readfirstlane|readlane|writelane|swap|dual_mov)", word):
            return "move", 0, 0.0
        return "int", 0, 0.0
    place = memory(word)
    if place:
        return *place, 0.0
    if word.startswith(("ds_", "global_", "flat_", "buffer_", "scratch_")):
        return "other", 0, 0.0
    if word.startswith("s_barrier"):       # RDNA 4: a signal and a wait
        return "wait" if "signal" in word else "barrier", 0, 0.0
    if word.startswith(("s_cbranch", "s_branch", "s_setpc", "s_swappc", "s_endpgm", "s_call")):
        return "branch", 0, 0.0
    if word.startswith(("s_waitcnt", "s_nop", "s_delay", "s_wait", "s_clause", "s_code_end",
                        "s_inst_prefetch", "s_set_inst")):
        return "wait", 0, 0.0
    return "scalar", 0, 0.0


def dual(line, wave):
    """Two operations in one instruction of RDNA 3 and later."""
    parts = [kind(part.split()[0].replace("v_dual_", "v_"), wave) for part in line.split("::")]
    for name in ("fma", "float", "convert", "int", "move"):
        if any(part[0] == name for part in parts):
            return name, 0, sum(part[2] for part in parts)
    return "int", 0, 0.0


def parse(text, wave):
    """{function: labels and instructions} of the assembly's text."""
    functions, items, callee = {}, None, ""
    for line in text.splitlines():
        label = re.match(r"([\w.$]+):", line)
        if label:
            if "; @" in line:
                items = functions.setdefault(label[1], [])
            elif label[1].startswith(".Lfunc_end"):
                items = None
            elif items is not None:
                items.append(label[1])
            continue
        match = re.match(r"\t([a-z]\w+)\s*([^;]*)", line)
        if items is None or not match or not CODE.match(match[1]):
            continue
        word, rest = match.groups()
        found = CALLEE.search(rest)
        callee = found[1] if found else callee
        one = Instruction(word, *(dual(line.strip(), wave) if "::" in line else kind(word, wave)))
        waits = WAIT.search(line)
        if waits:
            one.left = int(waits[1], 0)
        if one.kind == "global_load":
            one.fills = frozenset({rest.split(",")[0].strip()})
        if word.startswith(("s_cbranch", "s_branch")):
            one.targets = (rest.strip(),)
        if word.startswith("s_swappc"):
            one.callee = callee
        one.ends = word.startswith(("s_branch", "s_setpc", "s_endpgm"))
        items.append(one)
    return functions


def addresses(listing):
    """{function: [(word, address)]} of llvm-objdump's text."""
    functions, places = {}, None
    for line in listing.splitlines():
        match = re.match(r"[0-9a-f]+ <([\w.$]+)>:", line)
        if match:
            places = functions.setdefault(match[1], [])
        match = re.match(r"\t([a-z]\w+).*// ([0-9A-F]+)", line)
        if match and places is not None:
            places.append((match[1], int(match[2], 16)))
    return functions


def align(code, places):
    """The address of each instruction of the assembly; machine code has s_nop between, where loops
    are aligned. None: they differ."""
    found, at = [], iter(places)
    for one in code:
        for word, place in at:
            if word == one.word:
                found.append(place)
                break
            if word not in ("s_nop", "s_code_end"):
                return None
        else:
            return None
    return found


def numbers(text):
    """What the compiler says of the kernel, from the notes at the end of the assembly."""
    def note(name, pattern=r"(\d+)"):
        match = re.search(rf"^\s+\.{name}:\s+{pattern}", text, re.M)
        return int(match[1]) if match else 0

    sizes = [int(n) for n in re.findall(r"; codeLenInByte = (\d+)", text)]
    occupancy = re.search(r"; Occupancy: (\d+)", text)
    return {
        "registers": note("vgpr_count"), "scratch": note("private_segment_fixed_size"),
        "spills": note("vgpr_spill_count") + note("sgpr_spill_count"),
        "local": note("group_segment_fixed_size"), "wave": note("wavefront_size"),
        "occupancy": int(occupancy[1]) if occupancy else 0, "code": sum(sizes),
    }
