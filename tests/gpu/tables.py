# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The numbers of rows and targets as tables."""

import datetime

COLUMNS = [
    ("row", lambda f: f["row"]), ("target", lambda f: f["target"]),
    ("registers", lambda f: f["registers"]), ("spills", lambda f: f["spills"]),
    ("scratch", lambda f: f["scratch"]), ("local KiB", lambda f: f"{f['local'] / 1024:.1f}"),
    ("lanes", lambda f: f["wave"]), ("waves", lambda f: f"{f['occupancy']:g}"),
    ("code KiB", lambda f: f"{f['code'] / 1024:.0f}"),
    ("loop KiB", lambda f: f"{f['code'] * f['hot'] / 1024:.0f}" if "vector" in f else "-"),
    ("compile s", lambda f: f"{f['user']:.1f}"),
    ("matrix", lambda f: f"{f['mma']:.0f}" if "vector" in f else "-"),
    ("vector", lambda f: f"{f['vector']:.0f}" if "vector" in f else "-"),
    ("FMA share", lambda f: f"{f['fma_share']:.3f}" if "vector" in f else "-"),
    ("apart", lambda f: f"{f['fma_apart']:.3f}" if "vector" in f else "-"),
    ("loads/FMA", lambda f: f"{f['loads_per_fma']:.3f}" if "vector" in f else "-"),
    ("barriers", lambda f: f"{f['barriers']:.1f}" if "vector" in f else "-"),
    ("KiB in flight", lambda f: f"{f['in_flight'] / 1024:.0f}" if "in_flight" in f else "-"),
    ("slots/byte", lambda f: f"{f['slots']:.3f}" if "slots" in f else "-"),
]
GROUPS = [
    ("fma", ["fma"]), ("mma", ["mma"]), ("float", ["float"]), ("int", ["int"]),
    ("convert", ["convert"]), ("move", ["move"]), ("local loads", ["local_load"]),
    ("local stores", ["local_store"]), ("global loads", ["global_load"]),
    ("scratch", ["private_load", "private_store"]), ("barrier", ["barrier"]),
    ("branch", ["branch"]), ("scalar", ["scalar"]),
]
MARKS = ["qk", "pv", "softmax", "stage_q", "stage_k", "stage_v", "walk", "else"]


def lines(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"


def text(results):
    """For a terminal."""
    rows = [[name for name, _ in COLUMNS]]
    rows += [[str(cell(found)) for _, cell in COLUMNS] for found in results]
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    return "\n".join("  ".join(cell.ljust(width) if i < 2 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(row, widths)))
                     for row in rows)


def by_width(found, kind):
    """Memory accesses by bytes: 96x4 + 24x16."""
    parts = [(int(name.rsplit("_", 1)[1]), n) for name, n in found["widths"].items()
             if name.rsplit("_", 1)[0] == kind]
    return " + ".join(f"{n:.0f}x{width}" for width, n in sorted(parts)) or "0"


def markdown(found, results):
    steady = [one for one in results if "vector" in one]
    yield_lines = [f"# What compilers make of the kernels for GPUs, {datetime.date.today()}", ""]
    yield_lines += [f"- {compiler.version}" for compiler in found.values()] + [""]
    yield_lines += lines([name for name, _ in COLUMNS],
                         [[cell(one) for _, cell in COLUMNS] for one in results])
    yield_lines += ["", "Instructions of an item for one block of 64 keys, by kind; memory by "
                    "bytes an item.", ""]
    yield_lines += lines(
        ["row", "target", *(name for name, _ in GROUPS), "local loads by bytes",
         "global loads by bytes"],
        [[one["row"], one["target"],
          *(f"{sum(one['kinds'].get(kind, 0) for kind in kinds):.0f}" for _, kinds in GROUPS),
          by_width(one, "local_load"), by_width(one, "global_load")] for one in steady])
    yield_lines += ["", "Vector instructions of an item for one block, by what they are for.", ""]
    yield_lines += lines(
        ["row", "target", *MARKS],
        [[one["row"], one["target"], *(f"{one['marks'].get(mark, 0):.0f}" for mark in MARKS)]
         for one in steady])
    return "\n".join(yield_lines) + "\n"
