#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The rules that the source text itself must keep; docs/architecture.md says why.

tree.py TOP: who may include whom, where processors and vendors may be asked for, licence lines,
line length, tabs, length of files. Every breach is one line: file:line: rule.
tree.py --self-test: every rule is broken once, in a made-up tree, and must be reported.
"""

import pathlib
import re
import sys
import tempfile

FOLDERS = ["include", "lib", "reference", "backends", "tools", "examples", "tests", "fuzz",
           "scripts"]
C_SUFFIXES = {".c", ".h", ".cl", ".cu"}
TEXT_SUFFIXES = C_SUFFIXES | {".py", ".sh", ".map", ".build"}
COLUMNS, LINES = 100, 600

C_STANDARD = {
    "assert.h", "complex.h", "ctype.h", "errno.h", "fenv.h", "float.h", "inttypes.h", "iso646.h",
    "limits.h", "locale.h", "math.h", "setjmp.h", "signal.h", "stdalign.h", "stdarg.h",
    "stdatomic.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "stdnoreturn.h",
    "string.h", "tgmath.h", "threads.h", "time.h", "uchar.h", "wchar.h", "wctype.h",
}
PUBLIC = r"include/heed/.*"
WAIST = r"lib/(backend|plan|spans|dtype|alloc|error|compiler)\.h"

# For files that match the first pattern (the first row that does), what of the tree they may
# include, and which other headers: None for any.
LAYERS = [
    (r"include/.*", [PUBLIC], C_STANDARD - {"stdio.h", "threads.h", "stdatomic.h", "complex.h"}),
    (r"lib/.*", [PUBLIC, r"lib/.*", r"backends/kernels/spans\.h"], None),
    (r"reference/.*", [PUBLIC, r"lib/(backend|plan)\.h", r"reference/.*"], C_STANDARD),
    (r"backends/kernels/dialect\.h", [], {"stdint.h"}),
    (r"backends/kernels/.*", [r"backends/kernels/.*"], set()),
    (r"backends/table\.c", [PUBLIC, WAIST], C_STANDARD),
    (r"backends/(?P<own>[^/]+)/.*", [PUBLIC, WAIST, r"backends/{own}/.*", r"backends/kernels/.*"],
     None),
    (r"(?P<own>tools|fuzz)/.*", [PUBLIC, r"{own}/.*"], None),
    (r"(?P<own>examples/[^/]+)/.*", [PUBLIC, r"{own}/.*"], None),
    (r"examples/[^/]+", [PUBLIC], None),
    (r"tests/.*", [r".*"], None),
]
# What is reached through others counts as well for these: the reference must share nothing.
CLOSED = [r"reference/.*", r"include/.*"]
SEARCHED = ["", "lib", "include", "backends", "backends/kernels", "tests", "tests/support", "tools",
            "examples/summarize"]

ISA_FILES = re.compile(r"backends/cpu/(isa\.c|simd/.*)|backends/kernels/dialect\.h|tools/peak/.*"
                       r"|tests/.*")
ISA_WORDS = re.compile(
    r"__(AVX|SSE|F16C|FMA|BMI|x86|i386|amd64|aarch64|arm|ARM|riscv|s390|powerpc|PPC|mips|loongarch)"
    r"|_M_(X64|IX86|ARM)|HEED_(HAVE|ISA)|__(CUDA|NVCC|HIP|AMDGCN|NVPTX|OPENCL)|CL_VERSION"
    r"|OPENCL_VERSION")
ISA_HEADERS = re.compile(r"(\w+intrin|arm_neon|arm_sve|riscv_vector|cpuid|vecintrin)\.h")

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
CONDITION = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif)\b(.*)")


def sources(top):
    for name in FOLDERS:
        for path in sorted((top / name).rglob("*")):
            kind = path.suffix in TEXT_SUFFIXES or name == "scripts"
            if path.is_file() and kind and "__pycache__" not in path.parts:
                yield path.relative_to(top).as_posix()
    for name in ("meson.build", "meson_options.txt", ".ci/run"):
        if (top / name).is_file():
            yield name


def resolve(top, source, quote, name):
    """The file of the tree that an include means, or None for one from outside."""
    places = SEARCHED if quote == '"' else ["include"]
    if quote == '"':
        places = [str(pathlib.PurePosixPath(source).parent)] + places
        parts = pathlib.PurePosixPath(source).parts
        places += ["/".join(parts[:depth]) for depth in range(1, len(parts))]
    for place in places:
        path = (top / place / name).resolve()
        if path.is_file() and top.resolve() in path.parents:
            return path.relative_to(top.resolve()).as_posix()
    return None


class Tree:
    def __init__(self, top):
        self.top = top
        self.text = {name: (top / name).read_text(encoding="utf-8") for name in sources(top)}
        self.breaches = []

    def report(self, name, line, rule):
        self.breaches.append(f"{name}:{line}: {rule}")

    def includes(self, name):
        for number, line in enumerate(self.text.get(name, "").splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match[1], match[2]

    def reached(self, name):
        """Every file of the tree that `name` includes, itself or through others."""
        todo, seen = [name], set()
        while todo:
            current = todo.pop()
            for _, quote, included in self.includes(current):
                target = resolve(self.top, current, quote, included)
                if target and target not in seen:
                    seen.add(target)
                    todo.append(target)
        return seen

    def check_layers(self, name):
        for pattern, inside, outside in LAYERS:
            match = re.fullmatch(pattern, name)
            if match:
                break
        else:
            self.report(name, 1, "no layer has this file: add it to tests/api/tree.py")
            return
        own = match.groupdict().get("own", "")
        allowed = [rule.replace("{own}", re.escape(own)) for rule in inside]

        def may(target):
            return any(re.fullmatch(rule, target) for rule in allowed)

        for number, quote, included in self.includes(name):
            target = resolve(self.top, name, quote, included)
            if target is None and quote == '"':
                self.report(name, number, f'includes "{included}", which is not in the tree')
            elif target is None and outside is not None and included not in outside:
                self.report(name, number, f"may not include <{included}>")
            elif target is not None and not may(target):
                self.report(name, number, f"may not include {target}")
        if any(re.fullmatch(rule, name) for rule in CLOSED):
            for target in sorted(self.reached(name)):
                if not may(target):
                    self.report(name, 1, f"may not reach {target} through what it includes")

    def check_words(self, name):
        if ISA_FILES.fullmatch(name):
            return
        for number, line in enumerate(self.text[name].splitlines(), 1):
            condition, include = CONDITION.match(line), INCLUDE.match(line)
            if condition and ISA_WORDS.search(condition[2]):
                self.report(name, number, "asks for a processor or vendor: " + line.strip())
            if include and ISA_HEADERS.fullmatch(include[2]):
                self.report(name, number, f"includes {include[2]}, a processor's own header")

    def check_text(self, name):
        text = self.text[name]
        lines = text.splitlines()
        if not ("SPDX-FileCopyrightText: The heed authors" in "\n".join(lines[:4])
                and "SPDX-License-Identifier: Apache-2.0" in "\n".join(lines[:4])):
            self.report(name, 1, "lacks the two SPDX lines")
        if not text.endswith("\n"):
            self.report(name, len(lines), "no newline at the end")
        for number, line in enumerate(lines, 1):
            if "\t" in line:
                self.report(name, number, "a tab")
            if line != line.rstrip():
                self.report(name, number, "space at the end")
            if len(line) > COLUMNS and pathlib.PurePosixPath(name).suffix in C_SUFFIXES:
                self.report(name, number, f"{len(line)} columns, {COLUMNS} are allowed")
        if len(lines) > LINES and pathlib.PurePosixPath(name).suffix in C_SUFFIXES \
                and not name.startswith("include/"):
            self.report(name, len(lines), f"{len(lines)} lines, {LINES} are allowed")

    def check(self):
        for name in self.text:
            self.check_text(name)
            if pathlib.PurePosixPath(name).suffix in C_SUFFIXES:
                self.check_layers(name)
                self.check_words(name)
        return self.breaches


HEAD = ("/* SPDX-FileCopyrightText: The heed authors\n"
        " * SPDX-License-Identifier: Apache-2.0\n */\n")
CLEAN = {
    "include/heed/a.h": "#include <stdint.h>\n",
    "lib/plan.h": "#include <heed/a.h>\n",
    "lib/spans.h": '#include "backends/kernels/spans.h"\n',
    "lib/backend.h": '#include "plan.h"\n',
    "lib/secret.h": "",
    "lib/a.c": '#include "secret.h"\n#include <stdio.h>\n',
    "backends/kernels/dialect.h": "#if defined __OPENCL_VERSION__\n#endif\n",
    "backends/kernels/spans.h": '#include "dialect.h"\n',
    "backends/cpu/isa.c": "#if defined __x86_64__\n#endif\n",
    "backends/cpu/simd/x.h": "#include <immintrin.h>\n",
    "backends/cpu/t.c": '#include "simd/x.h"\n#include "lib/spans.h"\n',
    "backends/other/o.h": "",
    "reference/r.h": '#include "lib/plan.h"\n',
    "reference/r.c": '#include "r.h"\n#include <math.h>\n',
    "tools/t.c": "#include <heed/a.h>\n",
    "examples/e/e.c": "#include <heed/a.h>\n",
    "tests/unit/t.c": '#include "lib/secret.h"\n',
}
BROKEN = [
    ("include/heed/b.h", "#include <stdio.h>\n", "may not include <stdio.h>"),
    ("lib/b.c", '#include "reference/r.h"\n', "may not include reference/r.h"),
    ("lib/b.c", '#include "backends/cpu/simd/x.h"\n', "may not include backends/cpu/simd/x.h"),
    ("lib/b.c", '#include "backends/kernels/dialect.h"\n', "may not include backends/kernels/d"),
    ("reference/b.c", '#include "lib/spans.h"\n', "may not include lib/spans.h"),
    ("reference/b.c", '#include "backends/kernels/spans.h"\n', "may not include backends/kern"),
    ("reference/r.h", '#include "lib/secret.h"\n', "r.c:1: may not reach lib/secret.h"),
    ("lib/plan.h", '#include "secret.h"\n', "r.c:1: may not reach lib/secret.h"),
    ("backends/cpu/b.c", '#include "lib/secret.h"\n', "may not include lib/secret.h"),
    ("backends/cpu/b.c", '#include "backends/other/o.h"\n', "may not include backends/other/o.h"),
    ("backends/kernels/b.cl", '#include "lib/plan.h"\n', "may not include lib/plan.h"),
    ("backends/kernels/b.cl", "#include <stdint.h>\n", "may not include <stdint.h>"),
    ("tools/b.c", '#include "lib/plan.h"\n', "may not include lib/plan.h"),
    ("examples/e/b.c", '#include "../../tools/t.c"\n', "may not include tools/t.c"),
    ("examples/b.c", '#include "lib/plan.h"\n', "may not include lib/plan.h"),
    ("fuzz/b.c", '#include "tests/unit/t.c"\n', "may not include tests/unit/t.c"),
    ("lib/b.c", '#include "absent.h"\n', "not in the tree"),
    ("lib/b.c", "#ifdef __AVX2__\n#endif\n", "asks for a processor"),
    ("lib/b.c", "#include <immintrin.h>\n", "a processor's own header"),
    ("tools/b.c", "#  elif defined(__aarch64__)\n", "asks for a processor"),
    ("lib/b.c", "\tint x;\n", "a tab"),
    ("lib/b.c", "int x; \n", "space at the end"),
    ("lib/b.c", "/*" + "x" * 100 + "*/\n", "columns"),
    ("lib/b.c", "int x;\n" * 600, "600 are allowed"),
    ("lib/b.c", "int x;", "no newline"),
    ("lib/b.c", None, "SPDX"),
    ("backends/b.h", "", "no layer"),
]


def self_test():
    failed = 0
    for name, text, wanted in [(None, None, None)] + BROKEN:
        with tempfile.TemporaryDirectory() as folder:
            top = pathlib.Path(folder)
            files = {key: HEAD + value for key, value in CLEAN.items()}
            if name:
                files[name] = "int x;\n" if text is None else HEAD + text
            for key, value in files.items():
                (top / key).parent.mkdir(parents=True, exist_ok=True)
                (top / key).write_text(value, encoding="utf-8")
            breaches = Tree(top).check()
        if (not breaches) if wanted is None else any(wanted in line for line in breaches):
            continue
        failed += 1
        print(f"{name}: wanted {wanted!r}, got {breaches}")
    print(f"{len(BROKEN) + 1} trees, {failed} judged wrongly")
    return 1 if failed else 0


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    tree = Tree(pathlib.Path(sys.argv[1]))
    breaches = tree.check()
    print("\n".join(breaches) if breaches else f"{len(tree.text)} files keep the rules")
    return 1 if breaches or not tree.text else 0


if __name__ == "__main__":
    sys.exit(main())
