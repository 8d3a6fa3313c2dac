#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The conformance kit on a device that need not be there: conform_if.py PROGRAM DEVICE ARGUMENT...

Arguments that are lines of cases run one by one.

Exit status 77, skipped, where the device cannot be found or is not exact, with the reason. It is
tested first: of one that no test has opened yet nobody knows whether it is exact.
"""

import os
import pathlib
import re
import subprocess
import sys


def main():
    program, device = sys.argv[1:3]
    info = pathlib.Path(program).parent / "heed-info"
    result = subprocess.run([str(info), "--device", device, "--wait", "600"], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    line = next((line for line in result.stdout.splitlines() if line.split()[:1] == [device]), "")
    if not re.match(r"\S+\s+\d+\s+yes\s.*\susable$", line):
        print(f"{device}: {line or result.stdout}")
        log = pathlib.Path(os.environ.get("OCL_ICD_VENDORS", "none")).with_suffix(".log")
        print(log.read_text("utf-8") if log.exists() else "")     # of scripts/opencl-vendors
        return 1 if result.returncode < 0 or "not tested yet" in line else 77
    cases = [["--case", word] for word in sys.argv[3:] if word.startswith("op=")]
    others = [word for word in sys.argv[3:] if not word.startswith("op=")]
    done = [subprocess.run([program, "--device", device, *others, *case], check=False).returncode
            for case in cases or [[]]]
    return max(done, key=abs)


if __name__ == "__main__":
    sys.exit(main())
