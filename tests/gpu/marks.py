# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What lines of kernel text are for. HK_MARK(name); in a block of the text says what that block,
from its brace to its brace, is for; the compilers' line tables lead from an instruction to its line
and to those that its function was inlined at. The word costs nothing: it is only read here.

Marks: qk, pv (products of scores, of values), softmax, stage_q, stage_k, stage_v (tensors to local
memory or registers), walk (finding the next block), cold (what does not run for each block of keys
of an ordinary plan: once a chunk, a sub-source or a strip, or for special values and strides).

HK_PART(few, all); in a block: it runs in few of all turns of the loop around it.
"""

import pathlib
import re
import subprocess

NAMES = {"qk", "pv", "softmax", "stage_q", "stage_k", "stage_v", "walk", "cold"}
FUNCTION = re.compile(r"^(?:HK_FN|HK_PIECE|HK_INLINE|HK_NOINLINE)\b.*?(\w+)\((?!\()")
FOR = re.compile(r"\bfor \((?:const )?(?:hk_\w+ |int )?(\w+) = ([^;]*); (\w+)(?: \* (\w+))? "
                 r"([<>]=?|!=) ([^;&]*?)(?: && [^;]*)?; ((?:[^;{()]|\([^()]*\))*)\)")

# Names in the bounds of loops, for a plan whose d and d_v are the kernel's width, all keys visible.
KNOWN = {"id": 0, "from": 0, "n": 64, "reach": 16, "any": 1, "reach->n": 1}


def closing(words, at, opens, closes):
    """Where the partner of what stands at `at` is."""
    depth = 0
    for i in range(at, len(words)):
        depth += (words[i] in opens) - (words[i] in closes)
        if depth == 0:
            return i
    raise ValueError(words)


def python(words):
    """An expression of C as one of Python."""
    said, i = "", 0
    while i < len(words):
        if words[i] == "?":
            colon = closing(words, i, "?(", ":)")
            return (f"({python(words[i + 1:colon])}) if ({said}) else "
                    f"({python(words[colon + 1:])})")
        end = closing(words, i, "(", ")") if words[i] == "(" else i
        said += f"({python(words[i + 1:end])})" if end > i else words[i]
        i = end + 1
    return said.replace("||", " or ").replace("&&", " and ")


def statement_end(text, at):
    """Where the statement that begins at `at` ends."""
    at = re.compile(r"\s*").match(text, at).end()
    head = re.compile(r"(?:for|while|if) (?=\()").match(text, at)
    if head:
        return statement_end(text, closing(text, head.end(), "(", ")") + 1)
    if text[at:at + 1] == "{":
        return closing(text, at, "{", "}")
    return text.find(";", at)


def loops(text):
    """(first line, last line) of each loop; the first is that of its word."""
    for match in re.finditer(r"^\s*(?:(?:for|while) (?=\()|do (?={))", text, re.M):
        start = re.compile(r"\s*").match(text, match.start()).end()
        end = statement_end(text, start if match[0].strip() != "do" else match.end())
        if end > start:
            yield text.count("\n", 0, start) + 1, text.count("\n", 0, end) + 1


def strip(text):
    """Without comments and strings, line for line."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    return re.sub(r'"[^"\n]*"', '""', re.sub(r"//.*", "", text))


class Text:
    """One file: spans, [(first line, last line, mark)] innermost last, and the lines; parts: [(first
    line, last line, few, all)]; loops: [(first line, last line)]."""

    def __init__(self, path):
        text = strip(path.read_text(encoding="ascii"))
        self.lines, self.loops = text.split("\n"), list(loops(text))
        self.spans, self.functions, self.parts = [], [], []
        stack, marked, partly, head = [], {}, {}, (0, "")
        for number, line in enumerate(self.lines, 1):
            if line.startswith("#") or line.endswith("\\"):
                continue
            match = FUNCTION.match(line)
            if match:
                head = (number, match[1])
            if line.startswith("{"):
                stack = []
            for char in re.finditer(r"[{}]|HK_MARK\((\w+)\)|HK_PART\((\w+), (\w+)\)", line):
                if char[0] == "{":
                    stack.append(number if stack else head[0])
                elif char[0] == "}":
                    if stack:
                        first = stack.pop()
                        if (len(stack), first) in marked:
                            self.spans.append((first, number, marked.pop((len(stack), first))))
                        if (len(stack), first) in partly:
                            self.parts.append((first, number, *partly.pop((len(stack), first))))
                        if not stack:
                            self.functions.append((first, number, head[1]))
                elif char[2] and stack:
                    partly[len(stack) - 1, stack[-1]] = char[2], char[3]
                elif char[1] not in NAMES or not stack:
                    raise ValueError(f"{path}:{number}: HK_MARK of {', '.join(sorted(NAMES))}, in "
                                     "a block")
                else:
                    marked[len(stack) - 1, stack[-1]] = char[1]
        self.spans.sort(key=lambda span: span[0] - span[1])

    def mark(self, line):
        found = ""
        for first, last, name in self.spans:
            if first <= line <= last:
                found = name
        return found


class Texts:
    """The kernels' folder under the options of one row."""

    def __init__(self, folder, file, options):
        self.folder, self.file, self.files, self.known = folder, file, {}, {}
        self.shares, self.inside = {}, {}
        done = subprocess.run(["cc", "-E", "-dM", "-x", "c", "-D__OPENCL_VERSION__=120", *options,
                               str(folder / file)], capture_output=True, text=True, check=False)
        self.macros = dict(re.findall(r"^#define (\w+) (.+)$", done.stdout, re.M))
        self.calls = {name: (parameter, words) for name, parameter, words in
                      re.findall(r"^#define (\w+)\((\w+)\) (.+)$", done.stdout, re.M)}

    def path(self, name):
        """The file, in whatever room; another name is one that a compiler gives the row's file."""
        last = pathlib.PurePath(name).name
        found = next(self.folder.rglob(last), None) if last else None   # no name: the folder itself
        return found or self.folder / self.file

    def text(self, name):
        name = pathlib.PurePath(name).name
        if name not in self.files:
            self.files[name] = Text(self.path(name))
        return self.files[name]

    def mark(self, frames):
        """What the innermost marked line is for; cold if any line is."""
        if frames not in self.known:
            found = [self.text(name).mark(line) for name, line in frames]
            self.known[frames] = "cold" if "cold" in found \
                else next((mark for mark in found if mark), "")
        return self.known[frames]

    def part(self, frames):
        """In which part of the turns of its loop a line runs: HK_PART."""
        if frames not in self.shares:
            share = 1.0
            for name, line in frames:
                for first, last, few, whole in self.text(name).parts:
                    if first <= line <= last:
                        share *= self.number(few) / self.number(whole)
            self.shares[frames] = share
        return self.shares[frames]

    def loops(self, frames):
        """{(file, line)} of the loops of the text that hold a place."""
        if frames not in self.inside:
            self.inside[frames] = {(pathlib.PurePath(name).name, first) for name, line in frames
                                   for first, last in self.text(name).loops
                                   if first <= line <= last}
        return self.inside[frames]

    def place(self, name, line):
        return f"{self.path(name).name}:{line}"

    def function(self, name, line):
        """The function of the text that holds a line."""
        for first, last, found in self.text(name).functions:
            if first <= line <= last:
                return found
        return self.place(name, line)

    def called(self, match):
        """A macro of one parameter, of an argument."""
        if match[1] not in self.calls:
            return match[0]
        parameter, words = self.calls[match[1]]
        return "(" + re.sub(rf"\b{parameter}\b", lambda _: match[2], words) + ")"

    def number(self, words):
        """The value of an expression of macros and known names; None: it has none."""
        known = dict(KNOWN, d=self.width(), d_v=self.width())
        if "step" in words:
            known.update({"step->d": self.width(), "step->keys": KNOWN["n"] * self.blocks(),
                          "step->rows": self.number("HK_ROWS")})
            words = words.replace("step.", "step->")
        words = re.sub(r"\b(?:\w+->)*plan->(d|d_v)\b", r"\1", words)
        for _ in range(12):
            new = re.sub(r"\b[A-Za-z_]\w*(?:->\w+)*", lambda m: f"({self.macros[m[0]]})"
                         if m[0] in self.macros else str(known.get(m[0], m[0])), words)
            new = re.sub(r"\b(\w+)\(([^()]*|\(\w+\))\)", self.called, new)
            if new == words:
                break
            words = new
        words = re.sub(r"\((?:hk_[iu]\d+)\)", "", words).replace("/", "//")
        words = re.sub(r"\b(0x[0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", words)
        if re.search(r"[A-Za-z_]\w*", re.sub(r"\b0x[0-9a-fA-F]+\b", "", words)):
            return None
        try:
            return int(eval(python(words), {"__builtins__": {}}))   # digits and operators only
        except (SyntaxError, ZeroDivisionError, TypeError, ValueError):
            return None

    def width(self):
        return int(self.macros.get("HK_WIDTH", "64"))

    def blocks(self):
        """Blocks of 64 keys that a step takes."""
        return (self.number("HK_BLOCKS") if "HK_BLOCKS" in self.macros else None) or 1

    def turns(self, name, line):
        """How often the `for` of that line turns; None: it is none, or nobody knows."""
        lines = self.text(name).lines[line - 1:line + 2]
        match = FOR.search(" ".join(part.strip() for part in lines)) \
            if lines and "for (" in lines[0] else None
        if not match:
            return None
        begin, end = self.number(match[2]), self.number(match[6])
        by = self.number(match[4]) if match[4] else 1
        if begin is None or end is None or not by:
            return None
        end //= by
        step = match[7].replace(match[1], "").strip()
        if step in ("++", "--"):
            size = 1
        elif step in ("/= 2", "*= 2"):
            return max(begin, end, 1).bit_length() - 1
        else:
            size = self.number(step[2:]) if step[:2] in ("+=", "-=") else None
        if not size:
            return None
        return max(-(-abs(end - begin) // size), 0)
