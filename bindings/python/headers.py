#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Reads heed's public headers and writes what the binding knows of them.

headers.py TOP FOLDER     writes _abi.py, _docs.py, constants.pyi and mechanisms.pyi into FOLDER:
                          the build does, and setup.py for a wheel
headers.py TOP --probe [mpi]    prints a C program that prints size and offsets of every struct, of
                          those of heed/mpi.h where there is an MPI
"""

import importlib.util
import pathlib
import pprint
import re
import sys

HEADERS = ["heed", "memory", "pool", "nn", "attn", "mechanisms", "programs"]
OF_RANKS = ["mpi"]           # of a library of its own, which not every build has
HEAD = '''# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""{}"""

'''
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
DEFINE = re.compile(r"^#define (HEED_\w+) (\w+) *$", re.MULTILINE)
DIRECTIVE = re.compile(r"^[ \t]*#(?:.*\\\n)*.*$", re.MULTILINE)
INLINE = re.compile(r"^(?:HEED_MUST_CHECK )?static inline [^{;]*\n\{\n.*?^\}",
                    re.MULTILINE | re.DOTALL)
ENUM = re.compile(r"\benum\s*\{(.*?)\}\s*;", re.DOTALL)
STRUCT = re.compile(r"typedef struct (\w+) \{(.*?)\} \1;", re.DOTALL)
FUNCTION = re.compile(r"HEED_(MPI_)?API (?:HEED_MUST_CHECK )?([\w\s]+?[\s*]+)(heed_\w+)\((.*?)\);",
                      re.DOTALL)
DOCUMENTED = re.compile(r"/\*\*(.*?)\*/\s*(?:HEED_API (?:HEED_MUST_CHECK )?[\w\s*]+?(heed_\w+)\("
                        r"|typedef struct (\w+) \{)", re.DOTALL)
SYMBOLS = {"INT64_MAX": 2**63 - 1}


def kind_of(text, names):
    """The type of a field, a parameter or a result: its name, or what a pointer leads to."""
    text = re.sub(r"\bconst\b", "", text).strip()
    if "(*" in text:
        return "callback"
    if text.replace(" ", "") == "char*":
        return "string"
    if "*" in text:
        return "pointer"
    name = text.split()[0]
    return {"heed_status": "int32_t"}.get(name, name)


class Headers:
    def __init__(self, top, names):
        self.constants, self.structs, self.functions, self.docs = {}, {}, {}, {}
        self.takes, self.of_ranks = {}, {}
        for name in names:
            self.read((top / "include/heed" / (name + ".h")).read_text(encoding="utf-8"))

    def value(self, text):
        text = re.sub(r"\b(\d+)u\b", r"\1", text)
        return eval(text, {"__builtins__": {}}, {**SYMBOLS, **self.constants})  # of our headers

    def read(self, text):
        for match in DOCUMENTED.finditer(text):
            self.docs[match[2] or match[3]] = plain(match[1].rpartition("/**")[2])
        text = COMMENT.sub("", text)
        for match in DEFINE.finditer(text):
            if match[2] in SYMBOLS or match[2][0].isdigit():
                self.constants[match[1]] = self.value(match[2])
        text = INLINE.sub("", DIRECTIVE.sub("", text))
        for match in ENUM.finditer(text):
            self.read_enum(match[1])
        for match in STRUCT.finditer(text):
            self.structs[match[1]] = list(self.fields(match[2]))
        for match in FUNCTION.finditer(text):
            self.read_function(*match.groups())

    def read_enum(self, body):
        following = 0
        for item in body.split(","):
            name, _, value = (part.strip() for part in item.partition("="))
            if name:
                self.constants[name] = self.value(value) if value else following
                following = self.constants[name] + 1

    def fields(self, body):
        for item in body.split(";"):
            item = " ".join(item.split())
            if not item:
                continue
            if "(*" in item:
                yield re.search(r"\(\*(\w+)\)", item)[1], "callback", 0
                continue
            base, first = re.match(r"((?:const )?\w+(?: const)?)\s*(.*)", item).groups()
            for name in first.split(","):
                stars, name, count = re.match(r"\s*((?:\*(?:const )?)*)(\w+)(?:\[(\w+)\])?",
                                              name).groups()
                yield (name, kind_of(base + " " + stars, self.structs),
                       self.value(count) if count else 0)

    def read_function(self, of_ranks, result, name, arguments):
        arguments = [" ".join(one.split()) for one in arguments.split(",")]
        kinds = [] if arguments == ["void"] else [kind_of(self.bare(a), self.structs)
                                                  for a in arguments]
        if of_ranks:
            self.of_ranks[name] = (kind_of(result, self.structs), kinds)
            return
        self.functions[name] = (kind_of(result, self.structs), kinds)
        self.takes[name] = [match[0] for a in arguments for match in [re.search(r"heed_\w+", a)]
                            if match]

    @staticmethod
    def bare(argument):
        """A parameter without its name."""
        return re.sub(r"(\*)\s*\w+$", r"\1", argument) if "*" in argument else argument

    def builders(self):
        """Functions that fill a heed_mechanism, and those that plan a program, by descriptor."""
        for name, takes in self.takes.items():
            if takes[1:2] == ["heed_mechanism"]:
                yield name, takes[0]

    def programs(self):
        for name, takes in self.takes.items():
            desc = takes[1] if len(takes) > 1 else ""
            if name.endswith("_plan") and name[:-len("_plan")] + "_run" not in self.functions \
                    and desc.endswith("_desc"):
                yield name, desc


def plain(comment):
    """A comment of the headers as text."""
    lines = [re.sub(r"^\s*\* ?", "", line).rstrip() for line in comment.strip().splitlines()]
    return re.sub(r"@(param|return|section \w+|code|endcode) ?", "", "\n".join(lines)).strip()


def formatted(name, value):
    return f"{name} = " + pprint.pformat(value, width=92, compact=True, sort_dicts=False) + "\n\n"


def written(top):
    """The files that are made, by name."""
    headers = Headers(top, HEADERS + OF_RANKS)
    abi = HEAD.format("Constants, structs and functions of heed's headers. "
                      "Made by headers.py.")
    abi += formatted("CONSTANTS", headers.constants)
    abi += "# Name, type, and of arrays the extent.\n" + formatted("STRUCTS", headers.structs)
    abi += "# Result and parameters.\n" + formatted("FUNCTIONS", headers.functions)
    abi += "# The same of libheed-mpi.\n" + formatted("MPI_FUNCTIONS", headers.of_ranks)
    abi += "# Builders of mechanisms and plans of programs, with their descriptors.\n"
    abi += formatted("BUILDERS", dict(headers.builders()))
    abi += formatted("PROGRAMS", dict(headers.programs()))
    docs = HEAD.format("What heed's headers say of descriptors. Made by headers.py.")
    docs += formatted("DOCS", {name: text for name, text in headers.docs.items()
                               if name.endswith("_desc") and name != "heed_runtime_desc"})
    return {"_abi.py": abi.rstrip() + "\n", "_docs.py": docs.rstrip() + "\n",
            "constants.pyi": constant_types(headers),
            "mechanisms.pyi": mechanism_types(headers)}


def write(top, folder):
    for name, text in written(top).items():
        (folder / name).write_text(text, encoding="utf-8")


def constant_types(headers):
    made = HEAD.format("Types of constants.py. Made by headers.py.")
    names = [name[len("HEED_"):] for name in headers.constants]
    return made + "".join(f"{name}: int\n" for name in names) + "\n" + \
        formatted("__all__", names).rstrip() + "\n"


TYPES = {"heed_tensor": "ArrayLike", "heed_slot": "AuxArray", "heed_keys": "KeysLike",
         "heed_relative": "Relative", "uint32_t": "int | str"}
NAMED = {"o": "ArrayLike", "flags": "int | str", "numerics": "int | str", "scale": "float",
         "softcap": "float", "sinks": "ArrayLike", "lse": "ArrayLike | bool", "dtype": "DType",
         "device": "DeviceLike", "threads": "int"}


def mechanism_types(headers):
    """A stub with the signatures that mechanisms.py makes when it is imported."""
    path = pathlib.Path(__file__).parent / "heed/_signature.py"
    spec = importlib.util.spec_from_file_location("_signature", path)
    order = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(order)
    made = HEAD.format("Types of mechanisms.py. Made by headers.py.")
    made += ("from typing import Sequence\n\n"
             "from ._types import ArrayLike, AuxArray, DeviceLike, DType, KeysLike\n"
             "from .descriptors import Relative\nfrom .operations import operation\n"
             "from .runtime import Plan\n")
    names = []
    for functions, more, end in ((headers.builders(), order.OF_ATTENTION, ""),
                                 (headers.programs(), (), "_plan")):
        for name, struct in functions:
            fields = headers.structs[struct]
            types = {field: f"Sequence[{TYPES[kind]}]" if count else TYPES.get(kind, "int")
                     for field, kind, count in fields}
            needed, optional, named = order.parameters(struct, fields, more)
            lines = [f"{field}: {types[field]}" for field in needed]
            lines += [f"{field}: {types[field]} | None = ..." for field in optional]
            lines += ["*"] + [f"{field}: {NAMED[field]} | None = ..." for field in named]
            name = name[len("heed_"):len(name) - len(end)]
            names.append(name)
            made += f"\n@operation\ndef {name}(\n    " + ",\n    ".join(lines)
            made += ",\n) -> Plan: ...\n"
    return made + "\n" + formatted("__all__", names).rstrip() + "\n"


def probe(top, more):
    """A C program whose lines are: struct, field (or nothing for the struct), offset, size."""
    names = HEADERS + more
    headers = Headers(top, names)
    lines = [f"#include <heed/{name}.h>" for name in names] + ["#include <stdio.h>", "",
                                                              "int main(void)", "{"]
    for struct, fields in headers.structs.items():
        lines.append(f'    printf("{struct} - 0 %zu\\n", sizeof({struct}));')
        for name, _, _ in fields:
            lines.append(f'    printf("{struct} {name} %zu %zu\\n", offsetof({struct}, {name}), '
                         f'sizeof((({struct} *)0)->{name}));')
    for name in headers.constants:
        lines.append(f'    printf("{name} = %lld 0\\n", (long long){name});')
    return "\n".join(lines + ["    return 0;", "}", ""])


def main():
    top = pathlib.Path(sys.argv[1])
    if sys.argv[2] == "--probe":
        print(probe(top, sys.argv[3:]), end="")
        return 0
    write(top, pathlib.Path(sys.argv[2]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
