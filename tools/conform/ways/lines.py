#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""A text as lines of C strings: lines.py FILE NAME > HEADER"""

import sys

path, name = sys.argv[1:]
print(f"static const char *const {name}[] = {{")
with open(path, encoding="utf-8") as text:
    for line in text:
        line = line.rstrip("\n").replace("\\", "\\\\").replace('"', '\\"').replace("??", "?\\?")
        print(f'    "{line}",')
print("    NULL,\n};")
