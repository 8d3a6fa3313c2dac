#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-check, with a processor's OpenCL in place of a GPU: check.py GPU_CHECK BUILD

The report has its sections, the device, a row for each workload, and says that nothing failed; a
device that is not there is no device. Exit status 77: heed-info lists no OpenCL device.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

SECTIONS = ["# heed on GPUs, ", "## Machine", "## heed", "## Devices", "## Conformance",
            "## compute-sanitizer", "## Speed", "### opencl:0", "Nothing failed."]


def run(*command):
    return subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=280, check=False)


def main():
    script, build = sys.argv[1], pathlib.Path(sys.argv[2])
    if "opencl:0\n" not in run(build / "tools/heed-info", "--names").stdout:
        print("there is no OpenCL device")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("HEED_CACHE_DIR", folder)
        report = pathlib.Path(folder, "report.md")
        done = run(sys.executable, script, "--prebuilt", build, "--quick", "--report", report,
                   "--device", "opencl:0")
        print(done.stdout)
        text = report.read_text(encoding="utf-8")
        at = -1
        for section in SECTIONS:
            after = text.find(section, at + 1)
            assert after > at, f"{section} is missing, or stands before the one before it"
            at = after
        assert done.returncode == 0, done.returncode
        assert "usable, exact" in text and " 0 failed" in text, "the device is judged"
        rows = [line.split("|")[2:4] for line in text.splitlines()
                if line.startswith(("| dense:", "| window:"))]
        assert len(rows) == 2 and all(float(cell) > 0 for row in rows for cell in row), rows
        shares = re.findall(r"^\| \w+:.*?\| ([\d.]+) \| (\d+) % \|", text, re.MULTILINE)
        assert len(shares) == 2 and all(float(peak) > 0 for peak, _ in shares), "of the peak"
        none = run(sys.executable, script, "--prebuilt", build, "--quick", "--report", "none",
                   "--device", "opencl:77")
        assert none.returncode == 77, none.stdout
    return 0


if __name__ == "__main__":
    sys.exit(main())
