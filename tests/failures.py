#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What failed in a run of meson's tests: failures.py testlog.json

The first line has the names of those that failed, then come each one's telling lines and last words:
a log that keeps its end alone, as those of a service that runs tests do, says then what happened.

failures.py --fallen testlog.json: the names, if in all of them LeakSanitizer itself fell over, which
Clang 14's does once in some hundred programs of several threads, after the program has done its work.
failures.py --merge FIRST SECOND: the first log with what the second one has run again.
"""

import json
import re
import sys

GOOD = ("OK", "EXPECTEDFAIL", "SKIP")
TELLING = re.compile(r"^not ok\b|ERROR: \w+Sanitizer|runtime error:|:[FE]:|Traceback|^\s+#[0-6] ")
FALLEN = "LeakSanitizer has encountered a fatal error"
MOST, LAST = 20, 15


def rows_of(name):
    with open(name, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def said_by(row):
    return row.get("stdout", "") + row.get("stderr", "")


def name_of(row):
    return row["name"].split(" / ")[-1]


def excerpt(row):
    said = said_by(row).splitlines()
    telling = [line for line in said[:-LAST] if TELLING.search(line)][:MOST]
    return [line[:200] for line in telling + said[-LAST:]]


def report(bad):
    print(" ".join(name_of(row) for row in bad))
    for row in bad:
        print(f"\n-- {row['name']}: {row['result']} after {row['duration']:.0f} s")
        print("\n".join(excerpt(row)))


def main():
    rows = rows_of(sys.argv[-1])
    bad = [row for row in rows if row["result"] not in GOOD]
    if sys.argv[1] == "--fallen":
        print(" ".join(name_of(row) for row in bad if all(FALLEN in said_by(row) for row in bad)))
    elif sys.argv[1] == "--merge":
        again = {row["name"] for row in rows}
        rows = [row for row in rows_of(sys.argv[2]) if row["name"] not in again] + rows
        print("\n".join(json.dumps(row) for row in rows))
    else:
        report(bad)


if __name__ == "__main__":
    main()
