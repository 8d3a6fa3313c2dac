#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The rules that the source text itself must keep; docs/architecture.md says why.

tree.py TOP: who may include whom, where processors and vendors may be asked for, where layouts may
be, which words device code may use, that choices by element type end in none, licence lines, line
length, tabs, length of files and functions.
Every breach is one line: file:line: rule.
tree.py --self-test: every rule is broken once, in a made-up tree, and must be reported.
"""

import pathlib
import re
import sys
import tempfile

FOLDERS = ["include", "lib", "mpi", "model", "reference", "backends", "tools", "examples", "tests",
           "fuzz", "bindings", "integrations", "scripts"]
C_SUFFIXES = {".c", ".h", ".cl", ".cu", ".def"}
TEXT_SUFFIXES = C_SUFFIXES | {".py", ".sh", ".map", ".build"}
COLUMNS, LINES, FUNCTION_LINES = 100, 500, 60

C_STANDARD = {
    "assert.h", "complex.h", "ctype.h", "errno.h", "fenv.h", "float.h", "inttypes.h", "iso646.h",
    "limits.h", "locale.h", "math.h", "setjmp.h", "signal.h", "stdalign.h", "stdarg.h",
    "stdatomic.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "stdnoreturn.h",
    "string.h", "tgmath.h", "threads.h", "time.h", "uchar.h", "wchar.h", "wctype.h",
}
PUBLIC = r"include/heed/.*"
WAIST = r"lib/((backend|plan|spans|form)|types/types|core/(alloc|error|compiler|interop|os))\.h"
DIALECT = r"backends/kernels/(dialect/dialect(_\w+)?|simd/\w+)\.h"
# Made by the build.
MADE = {"backends/host_kernels.h", "reproduction.h"}
# The list of kernels is read by backends/device, which passes it on, and where tests build them all.
KERNELS = r"backends/kernels/(?!kernels\.def).*"

# Kernels of operations and of attention share what stands outside of their rooms.
SHARED = r"backends/kernels/((dialect|simd|types|layouts)/)?\w+\.h"

# Data without code, which the reference reads as well.
FORMS = r"backends/kernels/(forms|dialect/dialect_types)\.h"

# For files that match the first pattern (the first row that does), what of the tree they may
# include, and which other headers: None for any.
LAYERS = [
    (r"include/heed/opencl\.h", [PUBLIC], {"CL/cl.h"}),
    (r"include/heed/cuda\.h", [PUBLIC], {"cuda.h"}),
    (r"include/heed/mpi\.h", [PUBLIC], {"mpi.h"}),
    (r"include/.*", [PUBLIC], C_STANDARD - {"stdio.h", "threads.h", "stdatomic.h", "complex.h"}),
    (r"lib/mechanisms/.*", [PUBLIC, r"lib/mechanisms/.*", r"lib/core/(sized|error|compiler)\.h"],
     C_STANDARD),
    (r"lib/.*", [PUBLIC, r"lib/.*", r"backends/kernels/(spans|forms)\.h"], None),
    (r"reference/.*", [PUBLIC, r"lib/(backend|plan|form)\.h", FORMS, r"reference/.*"], C_STANDARD),
    (DIALECT, [DIALECT], {"arm_neon.h", "assert.h", "immintrin.h", "math.h", "stdatomic.h", "stdint.h", "string.h"}),
    (r"backends/kernels/(?P<own>attn|ops)/.*", [SHARED, r"backends/kernels/{own}/.*"], set()),
    (r"backends/kernels/selftest/.*",
     [SHARED, r"backends/kernels/(selftest/.*|attn/(blob|call|halves)\.h)"], set()),
    (r"backends/kernels/.*", [SHARED], set()),
    (r"backends/table\.c", [PUBLIC, WAIST], C_STANDARD),
    (r"backends/device/(cache|library|offload|process)\.[ch]", [PUBLIC, WAIST, r"backends/device/.*"], None),
    (r"backends/device/.*", [PUBLIC, WAIST, r"backends/device/.*", r"backends/kernels/.*"],
     C_STANDARD),
    (r"backends/emulate/.*", [PUBLIC, WAIST, r"backends/(emulate|device|kernels)/.*"], C_STANDARD),
    (r"backends/(?P<own>[^/]+)/.*",
     [PUBLIC, WAIST, r"backends/{own}/.*", r"backends/device/.*", KERNELS], None),
    (r"(?P<own>mpi)/.*", [PUBLIC, r"{own}/.*"], C_STANDARD),
    (r"(?P<own>model)/.*", [PUBLIC, r"{own}/.*"], C_STANDARD | {"utf8proc.h", "unistd.h", "fcntl.h", "sys/stat.h"}),
    (r"fuzz/fuzz_vendor\.c", [PUBLIC, r"fuzz/.*", r"backends/(cuda|opencl)/(api|gemm)\.h",
                              r"tests/support/fake_\w+\.h"], None),
    (r"fuzz/.*", [PUBLIC, r"fuzz/.*", r"tools/conform/(ops/attn/attn|engine/\w+)\.h",
                  r"examples/summarize/(read|pdf)\.h", r"model/.*"], None),
    (r"tools/conform/engine/.*",
     [PUBLIC, r"tools/(common|conform/engine)/.*", r"tools/conform/options\.h"], None),
    (r"tools/conform/ops/.*", [PUBLIC, r"tools/(common|patterns|conform/(engine|ops))/.*"], None),
    (r"(?P<own>tools)/.*", [PUBLIC, r"{own}/.*"], None),
    (r"(?P<own>examples/[^/]+)/.*", [PUBLIC, r"{own}/.*"], None),
    (r"examples/[^/]+", [PUBLIC], None),
    (r"(?P<own>integrations/[^/]+)/.*", [PUBLIC, r"{own}/.*"], C_STANDARD | {"immintrin.h", "link.h"}),
    (r"tests/.*", [r".*"], None),
]
# What is reached through others counts as well for these: the reference must share nothing.
CLOSED = [r"reference/.*", r"include/.*"]
SEARCHED = ["", "lib", "include", "backends", "backends/kernels", "tests", "tests/support", "tools",
            "examples/summarize", "model"]

ISA_FILES = re.compile(r"include/heed/opencl\.h"
                       r"|backends/cpu/isa\.c|tools/peak/.*|tests/.*"
                       r"|integrations/\w+/halves\.h|" + DIALECT)
ISA_WORDS = re.compile(
    r"__(AVX|SSE|F16C|FMA|BMI|x86|i386|amd64|aarch64|arm|ARM|riscv|s390|powerpc|PPC|mips|loongarch)"
    r"|_M_(X64|IX86|ARM)|HEED_(HAVE|ISA)|__(CUDA|NVCC|HIP|AMDGCN|NVPTX|OPENCL)|CL_VERSION"
    r"|OPENCL_VERSION")
# What is a system's is in a file of its own, which the build picks; headers of the interface must say
# how names are exported, confine.c is about one system, and the processor's tiles are asked of it.
SYSTEM_FILES = re.compile(r"include/.*|(lib|tools|examples)/.*(_linux|_posix|_windows|windows/\w+)\.[ch]"
                          r"|examples/summarize/confine\.c|backends/cpu/isa\.c|tests/.*|fuzz/.*")
SYSTEM_WORDS = re.compile(r"_WIN(32|64)|__(APPLE|linux|gnu_linux|ANDROID|MINGW|CYGWIN|unix|FreeBSD)|_MSC_VER")
# lib reaches vendors through tables; a word of theirs in code or comments is knowledge of them. What
# is exported has their names, in lib/heed.map.
VENDORS = re.compile(r"opencl|cuda|nvidia|nvrtc|intel\b|pocl|\bcl_[a-z]|\bCU(context|stream|event)",
                     re.IGNORECASE)
# Backends of vendors do the same things in files of the same names.
SIBLINGS = ("backends/opencl/", "backends/cuda/")
# The table of backends asks for what the build has put in, and for nothing else.
TABLE, TABLE_ROW = "backends/table.c", re.compile(r"\s*#\s*ifn?def HEED_HAVE_[A-Z]+")
ISA_HEADERS = re.compile(r"(\w+intrin|arm_neon|arm_sve|riscv_vector|cpuid|vecintrin)\.h")

# Words of OpenCL C, CUDA or C that device code must take from dialect.h instead.
KERNEL_WORDS = re.compile(
    r"\b(__\w+"                                                # __global, __shared__, __fmaf_rn
    r"|_Pragma|asm|inline|restrict|volatile|constexpr|template"
    r"|(get_(global|local|group|work|num|enqueued|sub_group|max)_?\w*|\w*barrier|\w*mem_fence"
    r"|(work|sub)_group_\w+|atom(ic)?_\w+|atomic[A-Z]\w*)(?=\s*\()"
    r"|(threadIdx|blockIdx|blockDim|gridDim|warpSize)"
    r"|(as|convert)_(char|uchar|short|ushort|int|uint|long|ulong|half|float|double)\w*"
    r"|(native_|vload|vstore|async_work)\w*"
    r"|(select|bitselect|shuffle2?|mad(24|_hi)?|mul24|mul_hi|rotate|clz|popcount|any|all"
    r"|(fma|rint|fabs|fmin|fmax|exp|exp2|exp10|log|log2|sqrt|rsqrt|tanh|pow|powr|recip|divide|floor"
    r"|ceil|trunc|round|fmod|ldexp|frexp|copysign|min|max|abs|clamp|mix|nan|isnan|isinf|isfinite"
    r"|signbit)[fl]?|mem(cpy|set|move)|printf|malloc)(?=\s*\()"
    r"|u?int\d+(_t)?|size_t|ptrdiff_t|u(char|short|int|long)\d*|(char|short|long|float)\d+"
    r"|half\d*|double\d*|long|bool|INFINITY|NAN|CLK_\w+)\b")
# Choices by element type: whoever asks for one type asks a question; for several, in branches, they
# are a ladder, whose last branch must be unreachable.
TYPED = re.compile(r"^(backends|lib|reference|tools)/")
TYPE_NAME = r"(?:HK|HEED)_(F32|B?F16|F8\w+|U8|I8|I32|I64|##NAME)\b"
TYPE_TEST = re.compile(r"\bif \([^;{]*?== " + TYPE_NAME + r"|\bcase " + TYPE_NAME
                       + r"|== " + TYPE_NAME + r"\s*\?")
TYPE_TABLE = re.compile(r"\w\[(?:[\w.>-]|\]\[)*\bdtype\]")
TYPE_BOUND = re.compile(r"(?:assert\([^;]*|return )dtype < ")
NO_BRANCH = re.compile(r"HK_UNREACHABLE\(\)|assert\(0\)|HK_BY\w*\(")
# A layout is named where it is a kind and where somebody builds a source; who else asks, asks for a
# property of it. A choice among several ends in a branch that is not reached.
LAYOUT = re.compile(r"\b(HEED_LAYOUT_[A-Z]+|HK_LAYOUT_(?!EVEN\b)[A-Z]+|HK_LAYOUT_##NAME)")
LAYOUT_ASKED = re.compile(r"^(lib|backends|reference)/")
LAYOUT_OF_CASE = re.compile(r"(S_LAY\)|G_QL\)|layout) [!=]= (LAY|HEED_LAYOUT)_(?!DENSE\b)")
LAYOUT_ROOMS = re.compile(
    r"lib/(layouts|mechanisms|programs)/.*|lib/ops/copy\.c"
    r"|backends/kernels/(layouts|spans|attn/panels)\.h|backends/kernels/layouts/.*"
    r"|reference/(layout|row|copy|push|reference)\.c")
LAYOUT_TEST = re.compile(r"(?:==|!=|case) (HEED_LAYOUT_\w+|HK_LAYOUT_\w+)")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)

FUNCTION = re.compile(r"^([^\n{};]*\([^{};]*\)\s*)\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
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
        self.breaches, self.graph = [], {}

    def report(self, name, line, rule):
        self.breaches.append(f"{name}:{line}: {rule}")

    def targets(self, name):
        """The files of the tree that `name` includes itself."""
        if name not in self.graph:
            found = (resolve(self.top, name, quote, included)
                     for _, quote, included in self.includes(name))
            self.graph[name] = [target for target in found if target]
        return self.graph[name]

    def includes(self, name):
        for number, line in enumerate(self.text.get(name, "").splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match[1], match[2]

    def reached(self, name):
        """Every file of the tree that `name` includes, itself or through others."""
        todo, seen = [name], set()
        while todo:
            for target in self.targets(todo.pop()):
                if target not in seen:
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
            if target is None and included in MADE:
                continue
            if target is None and quote == '"':
                self.report(name, number, f'includes "{included}", which is not in the tree')
            elif target is None and outside is not None and included not in outside:
                self.report(name, number, f"may not include <{included}>")
            elif target is not None and not may(target):
                self.report(name, number, f"may not include {target}")
        if name in self.reached(name):
            self.report(name, 1, "includes itself through others")
        if any(re.fullmatch(rule, name) for rule in CLOSED):
            for target in sorted(self.reached(name)):
                if not may(target):
                    self.report(name, 1, f"may not reach {target} through what it includes")

    def check_systems(self, name):
        if SYSTEM_FILES.fullmatch(name):
            return
        for number, line in enumerate(self.text[name].splitlines(), 1):
            condition, include = CONDITION.match(line), INCLUDE.match(line)
            if condition and SYSTEM_WORDS.search(condition[2]):
                self.report(name, number, "asks for a system: " + line.strip())
            if include and include[1] == "<" and include[2] == "windows.h":
                self.report(name, number, "includes <windows.h>, a system's own header")

    def check_words(self, name):
        for number, line in enumerate(self.text[name].splitlines(), 1):
            if name.startswith("lib/") and VENDORS.search(line):
                self.report(name, number, "names a vendor: lib knows none: " + line.strip())
        if ISA_FILES.fullmatch(name):
            return
        for number, line in enumerate(self.text[name].splitlines(), 1):
            if name == TABLE and TABLE_ROW.fullmatch(line):
                continue
            condition, include = CONDITION.match(line), INCLUDE.match(line)
            if condition and ISA_WORDS.search(condition[2]):
                self.report(name, number, "asks for a processor or vendor: " + line.strip())
            if include and ISA_HEADERS.fullmatch(include[2]):
                self.report(name, number, f"includes {include[2]}, a processor's own header")

    def check_dialect(self, name):
        if not name.startswith("backends/kernels/") or re.fullmatch(DIALECT, name):
            return
        text = COMMENT.sub(lambda match: "\n" * match[0].count("\n"), self.text[name])
        for number, line in enumerate(text.splitlines(), 1):
            for match in KERNEL_WORDS.finditer("" if INCLUDE.match(line) else line):
                self.report(name, number, f"a platform's word, {match[0]}: dialect.h has those")
            if re.match(r"\s*#\s*pragma", line):
                self.report(name, number, "a platform's word, #pragma: dialect.h has those")

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

    def check_functions(self, name):
        text = self.text[name]
        for match in FUNCTION.finditer(text):
            count = match[2].count("\n") + 2
            called = re.findall(r"(\w+)\s*\(", match[1])
            if count > FUNCTION_LINES:
                self.report(name, text.count("\n", 0, match.start(2)),
                            f"{called[0]} has {count} lines, {FUNCTION_LINES} are allowed")

    def check_types(self, name):
        if not TYPED.match(name):
            return
        for match in FUNCTION.finditer(COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]),
                                                   self.text[name])):
            line = self.text[name].count("\n", 0, match.start(2))
            called, body = re.findall(r"(\w+)\s*\(", match[1])[0], match[2]
            asked = {found.group(found.lastindex) for found in TYPE_TEST.finditer(body)}
            if len(asked) > 1 and not NO_BRANCH.search(body):
                self.report(name, line, f"{called} chooses by element type, and its last branch "
                                        "is not unreachable")
            if TYPE_TABLE.search(body) and not TYPE_BOUND.search(body):
                self.report(name, line, f"{called} finds something by element type, and no bound "
                                        "of it is asserted")
    def check_layouts(self, name):
        for number, line in enumerate(self.text[name].splitlines(), 1):
            if name.startswith("tools/conform/") and LAYOUT_OF_CASE.search(line):
                self.report(name, number, "asks for a layout: cf_layout_of says what it is")
        if not LAYOUT_ASKED.match(name):
            return
        text = COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), self.text[name])
        if not LAYOUT_ROOMS.fullmatch(name):
            for number, line in enumerate(text.splitlines(), 1):
                if LAYOUT.search(line):
                    self.report(name, number, "names a layout: lib/layouts says what it is")
            return
        for match in FUNCTION.finditer(text):
            if (len(set(LAYOUT_TEST.findall(match[2]))) > 1
                    and not re.search(r"HK_UNREACHABLE\(\)|assert\((0|false)\)", match[2])):
                self.report(name, text.count("\n", 0, match.start(2)),
                            "chooses by layout, and its last branch is not unreachable")

    def check_siblings(self):
        first, second = ({name[len(folder):] for name in self.text if name.startswith(folder)
                          and name.endswith((".c", ".h"))} for folder in SIBLINGS)
        for folder, lacking in zip(SIBLINGS, (second - first, first - second)):
            for name in lacking:
                self.report(folder + name, 1, "is missing: its sibling is there")

    def check(self):
        self.check_siblings()
        for name in self.text:
            self.check_text(name)
            if pathlib.PurePosixPath(name).suffix in C_SUFFIXES:
                self.check_layers(name)
                self.check_words(name)
                self.check_systems(name)
                self.check_dialect(name)
                self.check_functions(name)
                self.check_types(name)
                self.check_layouts(name)
        return self.breaches


HEAD = ("/* SPDX-FileCopyrightText: The heed authors\n"
        " * SPDX-License-Identifier: Apache-2.0\n */\n")
CLEAN = {
    "include/heed/a.h": "#include <stdint.h>\n",
    "lib/plan.h": "#include <heed/a.h>\n",
    "lib/spans.h": '#include "backends/kernels/spans.h"\n',
    "lib/backend.h": '#include "plan.h"\n',
    "lib/secret.h": "",
    "lib/circle.h": '#include "secret.h"\n',
    "lib/a.c": '#include "secret.h"\n#include <stdio.h>\n',
    "lib/core/sized.h": "#include <heed/a.h>\n",
    "lib/mechanisms/m.c": '#include "../core/sized.h"\n#include <heed/a.h>\n',
    "backends/kernels/dialect/dialect.h": '#if defined __OPENCL_VERSION__\n'
                                          '#include "dialect_x.h"\n#endif\n',
    "backends/kernels/dialect/dialect_x.h": "#include <math.h>\n#define hk_fma(a) __fmaf_rn(fma(a))\n",
    "backends/kernels/kernels.def": "",
    "backends/kernels/k.cl": '/* __global, barrier(),\n fma(x) */ #include "spans.h"\n'
                             "int hk_min(int a) { return hk_fma(a) + hk_select(a); } // fma(\n",
    "backends/device/device.h": '#include "../kernels/kernels.def"\n#include "lib/backend.h"\n',
    "backends/emulate/e.c": '#include "../kernels/kernels.def"\n#include "../device/device.h"\n',
    "backends/table.c": '#include "../lib/backend.h"\n#ifdef HEED_HAVE_OTHER\n#endif\n',
    "backends/kernels/spans.h": '#include "dialect/dialect.h"\n',
    "backends/kernels/ops/o.cl": '#include "../spans.h"\n',
    "backends/kernels/attn/a.h": '#include "../simd/x.h"\n',
    "backends/cpu/isa.c": "#if defined __x86_64__\n#endif\n",
    "backends/kernels/simd/x.h": "#include <immintrin.h>\n",
    "backends/cpu/t.c": '#include "../kernels/simd/x.h"\n#include "lib/spans.h"\n',
    "backends/other/o.h": '#include "../device/device.h"\n#include "../kernels/spans.h"\n',
    "reference/r.h": '#include "lib/plan.h"\n',
    "reference/r.c": '#include "r.h"\n#include <math.h>\n',
    "tools/t.c": "#include <heed/a.h>\n",
    "tools/conform/engine/e.h": "#include <heed/a.h>\n",
    "tools/conform/ops/o.h": '#include "conform/engine/e.h"\n',
    "tools/conform/ways/w.h": '#include "conform/ops/o.h"\n',
    "examples/e/e.c": "#include <heed/a.h>\n",
    "tests/unit/t.c": '#include "lib/secret.h"\n',
    "lib/types.c": "int f(int dtype)\n{\n    if (dtype == HEED_F16 || dtype == HEED_BF16)\n"
                   "        return 2;\n    assert(dtype < 4);\n    return table[dtype];\n}\n"
                   "int g(int a)\n{\n    switch (a) {\n    case HEED_I8:\n        return 4;\n"
                   "    case HEED_U8:\n        return 2;\n    default:\n        assert(0);\n    }\n}\n",
    "lib/core/os_windows.c": "#include <windows.h>\n#if defined __MINGW32__\n#endif\n",
    "lib/layouts/x.c": "int a = HEED_LAYOUT_RING;\n",
    "backends/kernels/layouts.h": "int f(int a)\n{\n    if (a == HK_LAYOUT_PAGED)\n        return 1;\n"
                                  "    if (a != HK_LAYOUT_EVEN)\n        HK_UNREACHABLE();\n"
                                  "    return 2;\n}\n",
}
BROKEN = [
    ("lib/b.c", "int a = HEED_LAYOUT_RING;\n", "b.c:4: names a layout"),
    ("backends/kernels/b.cl", "int a = HK_LAYOUT_RING;\n", "b.cl:4: names a layout"),
    ("tools/conform/b.c", "int a = cf_s(c, s, S_LAY) == LAY_RING;\n", "b.c:4: asks for a layout"),
    ("reference/layout.c", "int f(int a)\n{\n    return a == HEED_LAYOUT_RING ? 1\n"
                           "           : a == HEED_LAYOUT_PAGED ? 2 : 3;\n}\n", "chooses by layout"),
    ("lib/b.c", "#if defined _WIN32\n#endif\n", "b.c:4: asks for a system"),
    ("tools/b.c", "#ifdef __APPLE__\n#endif\n", "b.c:4: asks for a system"),
    ("examples/e/b.c", "#include <windows.h>\n", "b.c:4: includes <windows.h>"),
    ("include/heed/b.h", "#include <stdio.h>\n", "may not include <stdio.h>"),
    ("include/heed/b.h", "#include <cuda.h>\n", "may not include <cuda.h>"),
    ("include/heed/cuda.h", "#include <CL/cl.h>\n", "may not include <CL/cl.h>"),
    ("lib/b.c", '#include "reference/r.h"\n', "may not include reference/r.h"),
    ("lib/mechanisms/b.c", '#include "../plan.h"\n', "may not include lib/plan.h"),
    ("lib/mechanisms/b.c", "#include <dlfcn.h>\n", "may not include <dlfcn.h>"),
    ("lib/b.c", '#include "backends/kernels/simd/x.h"\n', "may not include backends/kernels/s"),
    ("lib/b.c", '#include "backends/kernels/dialect/dialect.h"\n', "may not include backends/k"),
    ("backends/kernels/ops/b.h", '#include "../attn/a.h"\n', "may not include backends/kernels/a"),
    ("backends/kernels/b.h", '#include "attn/a.h"\n', "may not include backends/kernels/a"),
    ("reference/b.c", '#include "lib/spans.h"\n', "may not include lib/spans.h"),
    ("reference/b.c", '#include "backends/kernels/spans.h"\n', "may not include backends/kern"),
    ("reference/r.h", '#include "lib/secret.h"\n', "r.c:1: may not reach lib/secret.h"),
    ("lib/plan.h", '#include "secret.h"\n', "r.c:1: may not reach lib/secret.h"),
    ("backends/cpu/b.c", '#include "lib/secret.h"\n', "may not include lib/secret.h"),
    ("backends/cpu/b.c", '#include "backends/other/o.h"\n', "may not include backends/other/o.h"),
    ("backends/kernels/b.cl", '#include "lib/plan.h"\n', "may not include lib/plan.h"),
    ("backends/kernels/b.cl", "#include <stdint.h>\n", "may not include <stdint.h>"),
    ("backends/kernels/b.def", '#include "lib/plan.h"\n', "may not include lib/plan.h"),
    ("backends/kernels/b.h", '#include "kernels.def"\n', "may not include backends/kernels/k"),
    ("backends/other/b.c", '#include "../kernels/kernels.def"\n', "may not include backends/k"),
    ("backends/device/b.c", '#include "../other/o.h"\n', "may not include backends/other/o.h"),
    ("backends/device/b.c", '#include "lib/secret.h"\n', "may not include lib/secret.h"),
    ("backends/device/b.c", "#include <dlfcn.h>\n", "may not include <dlfcn.h>"),
    ("backends/device/b.c", "#ifdef __OPENCL_VERSION__\n#endif\n", "asks for a processor"),
    ("backends/table.c", "#ifdef __AVX2__\n#endif\n", "asks for a processor"),
    ("lib/b.c", "#ifdef HEED_HAVE_OTHER\n#endif\n", "asks for a processor"),
    ("lib/b.c", '#include "backends/device/device.h"\n', "may not include backends/device"),
    ("tools/b.c", '#include "lib/plan.h"\n', "may not include lib/plan.h"),
    ("tools/conform/engine/b.c", '#include "conform/ops/o.h"\n', "may not include tools/conform/ops"),
    ("tools/conform/engine/b.c", '#include "conform/ways/w.h"\n', "may not include tools/conform/w"),
    ("tools/conform/ops/b.c", '#include "conform/ways/w.h"\n', "may not include tools/conform/ways"),
    ("examples/e/b.c", '#include "../../tools/t.c"\n', "may not include tools/t.c"),
    ("examples/b.c", '#include "lib/plan.h"\n', "may not include lib/plan.h"),
    ("fuzz/b.c", '#include "tests/unit/t.c"\n', "may not include tests/unit/t.c"),
    ("lib/b.c", '#include "absent.h"\n', "not in the tree"),
    ("lib/b.c", "#ifdef __AVX2__\n#endif\n", "asks for a processor"),
    ("lib/b.c", "/* a cl_mem */\n", "names a vendor"),
    ("backends/opencl/b.c", "", "backends/cuda/b.c:1: is missing"),
    ("backends/cuda/b.c", "", "backends/opencl/b.c:1: is missing"),
    ("lib/b.c", "int heed_cuda_x;\n", "names a vendor"),
    ("lib/secret.h", '#include "circle.h"\n', "circle.h:1: includes itself through others"),
    ("lib/b.c", "#include <immintrin.h>\n", "a processor's own header"),
    ("tools/b.c", "#  elif defined(__aarch64__)\n", "asks for a processor"),
    ("lib/b.c", "\tint x;\n", "a tab"),
    ("lib/b.c", "int x; \n", "space at the end"),
    ("lib/b.c", "/*" + "x" * 100 + "*/\n", "columns"),
    ("lib/b.c", "int x;\n" * 500, "500 are allowed"),
    ("lib/b.c", "int f(int a,\n      int b)\n{\n" + "    a++;\n" * 59 + "}\n", "f has 61 lines"),
    ("lib/b.c", "int x;", "no newline"),
    ("lib/b.c", "int f(int a)\n{\n    if (a == HEED_F32)\n        return 4;\n    if (a == HEED_F16)\n"
                "        return 2;\n    return 8;\n}\n", "f chooses by element type"),
    ("tools/b.c", "int f(int a)\n{\n    switch (a) {\n    case HEED_I8:\n        return 4;\n"
                  "    case HEED_F16:\n        return 2;\n    }\n    return 1;\n}\n",
     "f chooses by element type"),
    ("reference/b.c", "int f(int a)\n{\n    return a == HEED_F16 ? 1 : a == HEED_F32 ? 2 : 3;\n}\n",
     "f chooses by element type"),
    ("backends/device/b.c", "int f(int dtype)\n{\n    return table[1][dtype];\n}\n",
     "f finds something by element type"),
    ("lib/b.c", None, "SPDX"),
    ("backends/kernels/b.cl", None, "SPDX"),
    ("backends/kernels/b.def", None, "SPDX"),
    ("backends/kernels/b.def", "/*" + "x" * 100 + "*/\n", "columns"),
    ("backends/kernels/b.cl", "int x;\n" * 500, "500 are allowed"),
    ("backends/b.h", "", "no layer"),
]
FOREIGN = [
    "__kernel void k();", "__global int *p;", "__local int x;", "__constant int x;",
    "__device__ void k();", "__shared__ int x[4];", "__global__ void k();", "__restrict__ p;",
    "int i = get_local_id(0);", "int i = get_global_size(0);", "int i = threadIdx.x;",
    "int i = blockDim.x;", "barrier(1);", "__syncthreads();", "work_group_barrier(1);",
    "atomicAdd(p, 1);", "atomic_add(p, 1);", "x = as_float(w);", "x = as_int16(w);",
    "x = __float_as_uint(a);", "x = convert_float_rte(i);", "x = vload16(0, p);",
    "x = vload_half(0, p);", "vstore4(x, 0, p);", "x = select(a, b, c);", "x = fma(a, b, c);",
    "x = fmaf (a, b, c);", "x = __fmaf_rn(a, b, c);", "x = mad(a, b, c);", "x = rint(a);",
    "x = native_exp(a);", "x = exp2(a);", "x = sqrt(a);", "x = max(a, b);", "memcpy(a, b, 4);",
    "float16 x;", "int16 x;", "ulong x;", "uint x;", "half x;", "double x;", "size_t n;",
    "int64_t n;", "long n;", "float x = INFINITY;", "sub_group_reduce_add(x);", "#pragma unroll",
    '_Pragma("unroll")', 'asm("");', "static inline int f();", "#ifdef __CUDA_ARCH__\n#endif",
]
BROKEN += [("backends/kernels/b.cl", line + "\n", "b.cl:4: a platform's word") for line in FOREIGN]


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
