#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What failed in a run of meson's tests: failures.py [--late] testlog.json

The first line has the names of those that failed, then come each one's telling lines and last words:
a log that keeps its end alone, as those of a service that runs tests do, says then what happened.
--late prints the names of the tests alone that were skipped because they would have begun too late.
"""

import json
import re
import sys

GOOD = ("OK", "EXPECTEDFAIL", "SKIP")
TELLING = re.compile(r"^not ok\b|ERROR: \w+Sanitizer|runtime error:|:[FE]:|Traceback|^\s+#[0-6] ")
MOST, LAST = 20, 15


def excerpt(row):
    said = (row.get("stdout", "") + row.get("stderr", "")).splitlines()
    telling = [line for line in said[:-LAST] if TELLING.search(line)][:MOST]
    return [line[:200] for line in telling + said[-LAST:]]


def main():
    with open(sys.argv[-1], encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    if sys.argv[1] == "--late":
        late = [row for row in rows if "skipped: too late" in row.get("stderr", "")]
        print("".join(f", {row['name'].split(' / ')[-1]}" for row in late))
        return
    bad = [row for row in rows if row["result"] not in GOOD]
    print(" ".join(row["name"].split(" / ")[-1] for row in bad))
    for row in bad:
        print(f"\n-- {row['name']}: {row['result']} after {row['duration']:.0f} s")
        print("\n".join(excerpt(row)))


if __name__ == "__main__":
    main()
