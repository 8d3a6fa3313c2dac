# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""A program on a pseudo terminal, and what remains to be seen there."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

LIMIT = 120


def screen(output):
    """The lines that remain on a terminal wide enough: only what the program writes."""
    lines, line, at = [], [], 0
    for part in re.findall(r"\x1b\[K|.|\n|\r", output):
        if part == "\n":
            lines.append("".join(line).rstrip())
            line, at = [], 0
        elif part == "\r":
            at = 0
        elif len(part) > 1:
            del line[at:]
        else:
            line[at:at + 1] = [part]
            at += 1
    return lines + ["".join(line).rstrip()]


def drawn(output):
    """What was drawn over the line, one text each time."""
    return [text for text in re.findall(r"\r([^\r\n]*)\x1b\[K", output) if text]


def watch(command, columns=120, stop=None, env=None, term="xterm", both=False):
    """Runs with stderr on a terminal: (how it ended, stdout, what was written to the terminal, how
    long it took after Ctrl-C). stop: tells by what was written whether Ctrl-C is to be typed. term:
    what TERM says, None: nothing. both: stdout is the same terminal."""
    env = {key: value for key, value in (env or os.environ).items() if key != "TERM"}
    if term is not None:
        env["TERM"] = term
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def own_terminal():
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    child = subprocess.Popen(command, stdin=slave, stderr=slave, env=env,
                             stdout=slave if both else subprocess.PIPE,
                             preexec_fn=own_terminal)
    os.close(slave)
    written, typed, end = "", 0.0, time.monotonic() + LIMIT
    while time.monotonic() < end:
        ready, _, _ = select.select([master], [], [], 0.05)
        if ready:
            try:
                piece = os.read(master, 65536)
            except OSError:                # the last one who wrote is gone
                break
            written += piece.decode()
        elif child.poll() is not None:
            break
        if stop is not None and not typed and stop(written):
            os.write(master, b"\x03")
            typed = time.monotonic()
    out = (child.communicate(timeout=LIMIT)[0] or b"").decode()
    took = time.monotonic() - typed if typed else None
    os.close(master)
    return child.returncode, out, written, took
