#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Mesa's Rusticl on its software renderer is refused with a reason, at once: rusticl.py HEED_INFO

The driver is the one that an ICD file names, or a library named by HEED_RUSTICL. It would compile
the self-test for minutes. Exit status 77: there is no Rusticl.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

PLACES = ["/etc/OpenCL/vendors", "/usr/share/OpenCL/vendors", "/usr/local/etc/OpenCL/vendors"]
SECONDS = 10


def find_library():
    """The library, or None."""
    named = os.environ.get("HEED_RUSTICL")
    if named:
        return named
    for place in PLACES:
        for path in sorted(pathlib.Path(place).glob("*.icd")):
            library = path.read_text(encoding="utf-8").strip()
            if "rusticl" in library.lower():
                return library
    return None


def main():
    library = find_library()
    if library is None:
        print("there is no Rusticl")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "rusticl.icd").write_text(library + "\n", encoding="utf-8")
        environment = dict(os.environ, OCL_ICD_VENDORS=folder, OPENCL_VENDOR_PATH=folder,
                           RUSTICL_ENABLE="llvmpipe", HEED_CACHE_DIR="")
        begin = time.monotonic()
        text = subprocess.run([sys.argv[1], "--test", "--json"], env=environment, text=True,
                              stdout=subprocess.PIPE, timeout=240, check=False).stdout
        seconds = time.monotonic() - begin
    devices = [d for d in json.loads(text)["devices"] if d["kind"] == "opencl"]
    if not devices:
        print("Rusticl lists no device here")
        return 77
    for device in devices:
        print(f"{device['name']}: {device['description']}: {device['reason']}")
    refused = all(not d["usable"] and "subnormals" in d["reason"] for d in devices)
    print(f"{seconds:.1f} s")
    return 0 if refused and seconds < SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
