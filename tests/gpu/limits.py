# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Limits of what compilers make of kernels: limits.txt."""

import dataclasses
import fnmatch

STATES = ("aim", "held")
# Column: (the number it limits, what one of the column is in the number's units).
COLUMNS = {"scratch": ("scratch", 1), "spills": ("spills", 1), "code": ("code", 1024),
           "compile": ("user", 1), "fma": ("fma_share", 1), "loads": ("loads_per_fma", 1),
           "mma": ("mma", 1), "barriers": ("barriers", 1), "flight": ("in_flight", 1024),
           "slots": ("slots", 1), "apart": ("fma_apart", 1)}
OPTIONAL = 5                    # columns at the end that a line may leave out
LEAST = {"fma", "mma", "flight", "apart"}       # the others are the most


@dataclasses.dataclass
class Limit:
    row: str
    target: str
    held: bool
    most: dict

    def breaches(self, found):
        """What of a row's numbers is beyond its limit, in words."""
        for column, limit in self.most.items():
            name, unit = COLUMNS[column]
            if name not in found:
                yield f"{column} is not known (limit {limit:g})"
                continue
            value = found[name] / unit
            if value < limit if column in LEAST else value > limit:
                yield f"{column} {value:.4g} (limit {limit:g})"


def read(path):
    limits = []
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if not 3 + len(COLUMNS) - OPTIONAL <= len(words) <= 3 + len(COLUMNS) or words[2] not in STATES:
            raise ValueError(f"{path}:{number}: not row, target, aim or held, "
                             f"{', '.join(COLUMNS)}")
        most = {column: float(word) for column, word in zip(COLUMNS, words[3:]) if word != "-"}
        limits.append(Limit(words[0], words[1], words[2] == "held", most))
    return limits


def check(limits, results):
    """(lines that say how each result stands, how many held limits are broken)."""
    lines, broken = [], 0
    for found in results:
        name = f"{found['row']} for {found['target']}"
        limit = next((one for one in limits if fnmatch.fnmatch(found["row"], one.row)
                      and fnmatch.fnmatch(found["target"], one.target)), None)
        if limit is None:
            continue
        over = list(limit.breaches(found))
        if limit.held:
            broken += bool(over)
            lines.append(f"{'not ok' if over else 'ok'}: {name}{': ' if over else ''}"
                         f"{', '.join(over)}")
        else:
            lines.append(f"{'aim missed' if over else 'aim reached'}: {name}"
                         f"{': ' if over else ''}{', '.join(over)}")
    return lines, broken
