#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Is a whole GPU at work? planner.py GROUPS [--table]

GROUPS (groups.c) says how many work-groups a plan starts. For decoding with 1 to 64 pairs of item and
key head and 1 k to 1 M keys there are at least two for each unit of every device of devices.py,
wherever there are chunks enough; --table prints them.
"""

import subprocess
import sys

import devices

PAIRS = [1, 2, 4, 8, 16, 32, 64]
KEYS = [1 << n for n in range(10, 21)]
CHUNK = 1024
F32, F16 = 1, 2


def ask(groups, lines):
    """For each line of groups.c's input: [(kernel, threads, groups), ...]."""
    said = subprocess.run([groups], input="".join(" ".join(map(str, line)) + "\n" for line in lines),
                          text=True, stdout=subprocess.PIPE, check=True).stdout.splitlines()
    for line in said:
        words = line.split()
        yield [(words[i], int(words[i + 1]), int(words[i + 2])) for i in range(0, len(words), 3)]


def attending(launches):
    """Groups of the launch that attends: one that joins parts comes behind it."""
    return next(n for name, _, n in launches
                if "join" not in name and "prepare" not in name and "keep" not in name)


def main():
    groups = sys.argv[1]
    device = devices.DEVICES[0]
    lines = [(1, 4 * pairs, pairs, 1, keys, 128, F16, 0, -1, -1, device.rows, device.sums)
             for pairs in PAIRS for keys in KEYS]
    found = dict(zip([(line[2], line[4]) for line in lines],
                     (attending(launches) for launches in ask(groups, lines))))
    if "--table" in sys.argv:
        print("| pairs | " + " | ".join(f"{keys // 1024}k" for keys in KEYS) + " |")
        print("|---:|" + "---:|" * len(KEYS))
        for pairs in PAIRS:
            print(f"| {pairs} | " + " | ".join(str(found[pairs, keys]) for keys in KEYS) + " |")
    idle = [(device.name, pairs, keys, found[pairs, keys]) for device in devices.DEVICES
            for pairs, keys in found
            if found[pairs, keys] < min(2 * device.units, pairs * keys // CHUNK)]
    for name, pairs, keys, n in idle:
        print(f"{name}: {pairs} pairs with {keys} keys start {n} groups")
    print(f"{len(found)} plans, {len(devices.DEVICES)} devices, {len(idle)} that leave units idle")
    return 1 if idle else 0


if __name__ == "__main__":
    sys.exit(main())
