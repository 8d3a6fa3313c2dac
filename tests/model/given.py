#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a program of tests with random checkpoints: given.py PROGRAM, which finds their folder in
HEED_TEST_MODELS. "tiny" is a bert whose files have 4 KiB, "bytes" one whose tokens are bytes."""

import json
import os
import shutil
import subprocess
import sys

import running
import checkpoints
import hostile
import summaries


def main():
    """The exit status of the program."""
    folder = running.scratch()
    try:
        for variant in checkpoints.VARIANTS:
            checkpoints.write(folder / variant, variant, 1)
        checkpoints.write(folder / "shards", "bart", 1, "BF16", 3)
        config, _, tensors = hostile.good("bert")
        checkpoints.save(folder / "tiny", config, tensors)
        checkpoints.write(folder / "bytes", "bert", 1, vocab=260)
        (folder / "bytes/tokenizer.json").write_text(json.dumps(summaries.tokenizer()))
        return subprocess.run(sys.argv[1:], check=False,
                              env=os.environ | {"HEED_TEST_MODELS": str(folder)}).returncode
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
