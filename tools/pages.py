#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""A program's manual page and its completion for shells, made from what its --help prints.

pages.py PROGRAM VERSION FOLDER: writes NAME.1 and, for bash, zsh and fish, NAME.bash, _NAME and
NAME.fish. The form of --help is that of tools/common/command.h: a usage, a paragraph, sections that
begin with a heading and a colon. What may follow an option is named by its value: choices in small
letters, FILE, DIR, DEVICE (asked of heed-info), or the name of a list in the same text, WORKLOAD of
"Workloads".
"""

import pathlib
import re
import subprocess
import sys

SUMMARIES = {
    "heed-bench": "measure attention kernels beside what the processor can do",
    "heed-conform": "compare attention kernels with the reference, case by case",
    "heed-info": "say what heed is and what it finds on this machine",
    "heed-model": "run encoders and encoder-decoders from published checkpoints",
    "heed-summarize": "print the sentences of a long document that say most",
}
DEVICES = "heed-info --names 2>/dev/null"
HEADING = re.compile(r"^([A-Z][^:\n]*):$", re.MULTILINE)
OPTION = re.compile(r"^  (?:-(\w), )?--([a-z-]+)(?: (\S+))?(?: +(.*))?$")


class Option:
    def __init__(self, short, name, value, text):
        self.short, self.name, self.value = short, name, value
        self.lines = [text] if text else []

    @property
    def text(self):
        return " ".join(self.lines)

    @property
    def spelt(self):
        return (f"-{self.short}, " if self.short else "") + "--" + self.name


class Help:
    """What --help says, in parts."""

    def __init__(self, text):
        first, *parts = HEADING.split(text)
        usage, _, about = first.partition("\n\n")
        self.synopsis = [line[len("usage: "):] for line in usage.splitlines()]
        self.about = " ".join(about.split())
        self.sections = dict(zip(parts[::2], (part.strip("\n") for part in parts[1::2])))
        self.options = list(self.read_options())
        self.operand = "FILE" if re.search(r" FILE\b[^]]*$", self.synopsis[0]) else None

    def read_options(self):
        option = None
        for line in self.sections["Options"].splitlines():
            match = OPTION.match(line)
            if match:
                if option:
                    yield option
                option = Option(*match.groups())
            else:
                option.lines.append(line.strip())
        yield option

    def names(self, value):
        """The names of the list whose heading begins with this value, or None."""
        for heading, body in self.sections.items():
            if heading.lower().startswith(value.lower()):
                return re.findall(r"^  ([a-z]\S*)", body, re.MULTILINE)
        return None

    def words(self, option):
        """What may follow: words, whether files, whether devices; None: nothing follows."""
        words, files, devices = [], False, False
        for value in re.sub(r"\[[^]]*\]", "", option.value).split("|"):
            files |= value in ("FILE", "DIR")
            devices |= value == "DEVICE"
            words += [value] if value.islower() else self.names(value) or []
        return words, files, devices

    def examples(self):
        """Pairs of a command and what it does."""
        lines = self.sections["Examples"].splitlines()
        return [(a.strip(), b.strip()) for a, b in zip(lines[::2], lines[1::2])]


# ---- manual page ------------------------------------------------------------------

def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def manual(name, version, told):
    title = name.upper().replace("-", "\\-")
    out = [f'.TH {title} 1 "" "heed {version}" "User Commands"', ".SH NAME",
           f"{roff(name)} \\- {roff(SUMMARIES[name])}", ".SH SYNOPSIS", ".nf"]
    out += [re.sub(r"^" + re.escape(roff(name)), lambda m: f"\\fB{m[0]}\\fR", roff(line))
            for line in told.synopsis]
    out += [".fi", ".SH DESCRIPTION", roff(told.about)]
    for heading, body in told.sections.items():
        out.append(".SH " + roff(heading.upper()))
        if heading == "Options":
            for option in told.options:
                value = f" \\fI{roff(option.value)}\\fR" if option.value else ""
                out += [".TP", f"\\fB{roff(option.spelt)}\\fR{value}", roff(option.text)]
        elif heading == "Examples":
            for command, does in told.examples():
                out += [".TP", f"\\fB{roff(command)}\\fR", roff(does[:1].upper() + does[1:]) + "."]
        elif re.match(r"  \S+  +\S", body) or not re.search(r"\w \w", body):
            out += [".nf", roff(body), ".fi"]
        else:
            out.append(roff(" ".join(body.split())))
    others = sorted(set(SUMMARIES) - {name})
    out += [".SH SEE ALSO", ",\n".join(f".BR {roff(other)} (1)" for other in others).replace(
        ",\n", " ,\n") + " ,", ".BR heed (7)"]
    return "\n".join(out) + "\n"


# ---- completion ---------------------------------------------------------------------

BASH = """# bash completion of {name}; made by tools/pages.py
_{function}()
{{
    local line=${{COMP_LINE:0:COMP_POINT}} word before words= reply
    word=${{line##*[[:space:]]}}
    before=${{line%"$word"}}
    before=${{before%"${{before##*[![:space:]]}}"}}
    before=${{before##*[[:space:]]}}
    COMPREPLY=()
    if [[ $word == --*=* ]]; then
        before=${{word%%=*}}
        word=${{word#*=}}
    fi
    case $before in
{cases}
        *)
            if [[ $word == -* ]]; then
                words='{options}'
{operand}            fi
            ;;
    esac
    while read -r reply; do
        # readline has cut the word at each of these.
        [[ $word == *:* && $COMP_WORDBREAKS == *:* ]] && reply=${{reply#"${{word%:*}}:"}}
        [ -n "$reply" ] && COMPREPLY+=("$reply")
    done < <(compgen -W "$words" -- "$word")
}}
complete -F _{function} {name}
"""


def bash(name, told):
    cases = []
    for option in told.options:
        if option.value is None:
            continue
        words, files, devices = told.words(option)
        text = " ".join(words) + (f" $({DEVICES})" if devices else "")
        lines = ["        --" + option.name + ")"]
        if text:
            lines.append('            words="' + text.strip() + '"')
        if files:
            lines.append('            compopt -o filenames 2>/dev/null')
            lines.append('            mapfile -t COMPREPLY < <(compgen -f -- "$word")')
        cases += lines + ["            ;;"]
    operand = '            else\n                compopt -o filenames 2>/dev/null\n' \
        '                mapfile -t COMPREPLY < <(compgen -f -- "$word")\n'
    spelt = " ".join(s for o in told.options
                     for s in (["-" + o.short] if o.short else []) + ["--" + o.name])
    return BASH.format(name=name, function=name.replace("-", "_"), cases="\n".join(cases),
                       options=spelt, operand=operand if told.operand else "")


def zsh(name, told):
    def quoted(text):
        return re.sub(r"([\[\]:\\])", r"\\\1", text).replace("'", "'\\''")

    lines = []
    for option in told.options:
        text = quoted(option.text)
        if option.value is None:
            both = [f"--{option.name}"] + ([f"-{option.short}"] if option.short else [])
            lines += [f"'{one}[{text}]'" for one in both]
            continue
        words, files, devices = told.words(option)
        action = "_files" if files else "(" + " ".join(words) + ")" if words else ""
        if devices:
            file = "; _files" if files else ""
            action = '{compadd -- ${(f)"$(' + DEVICES + ')"}' + file + "}"
        lines.append(f"'*--{option.name}=[{text}]:{quoted(option.value)}:{action}'")
    if told.operand:
        lines.append("'1:FILE:_files'")
    return f"#compdef {name}\n# made by tools/pages.py\n_arguments \\\n    " + \
        " \\\n    ".join(lines) + "\n"


def fish(name, told):
    def quoted(text):
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    out = ["# fish completion of " + name + "; made by tools/pages.py"]
    if not told.operand:
        out.append(f"complete -c {name} -f")
    for option in told.options:
        line = f"complete -c {name} -l {option.name}"
        line += f" -s {option.short}" if option.short else ""
        if option.value is not None:
            words, files, devices = told.words(option)
            line += " -r -F" if files else " -x"
            choices = " ".join(words) + (f"({DEVICES})" if devices else "")
            line += " -a " + quoted(choices) if choices else ""
        out.append(line + " -d " + quoted(option.text))
    return "\n".join(out) + "\n"


def read(program):
    text = subprocess.run([program, "--help"], text=True, check=True, capture_output=True).stdout
    return Help(text)


def main():
    program, version, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    name = pathlib.Path(program).name
    told = read(program)
    for file, text in ((name + ".1", manual(name, version, told)),
                       (name + ".bash", bash(name, told)),
                       ("_" + name, zsh(name, told)),
                       (name + ".fish", fish(name, told))):
        (folder / file).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
