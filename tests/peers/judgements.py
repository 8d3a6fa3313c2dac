# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of other projects, judged property by property; scripts/judge-peers calls this.

    judgements.py KERNEL TYPE CASES BREAKS    judges one kernel, the names are those of judged/*.py

Prints one line of JSON. For each property that is broken it writes BREAKS/KERNEL-TYPE-PROPERTY.py,
a program of NumPy and the kernel's project alone that shows the break, and runs it in a process of
its own: its exit status is 0 where the break shows, 1 where it does not.

An adapter is a module of judged/: a function attention(q, k, v, scale, ...) on arrays of NumPy,
which is the text of those programs as well, and

    PROJECT   whose kernels these are; PACKAGES, VERSION: of what the version is told
    TAKES     what the kernel does beyond softmax(q k^T scale) v, as a case's `needs` has it
    KERNELS   names of kernels and their further arguments
    TYPES     element types, ("f32",) where it is missing
    DENSE     True: it wants arrays without gaps, or copies them, so that no layout reaches the kernel
    SCALE_ABOVE_0, MULTIPLE (of d), MORE_ROWS_ALONE (one item, where there are more
              rows than one and fewer than keys): what else it wants
    COMPILES  it compiles for each shape: by what the number of cases is divided
    LACKING   how the text of a RuntimeError begins that says that there is no such kernel
"""

import importlib
import importlib.metadata
import inspect
import json
import pathlib
import re
import subprocess
import sys
import time
import zlib

import heed
import numpy as np

FOLDER = pathlib.Path(__file__).parent / "judged"
LINES = 30      # that a program may have, but for blank ones and comments
SEEDS = 60      # of random numbers that a program is tried with
THREADS = (2, 3, 8)
HEAD = ("# SPDX-FileCopyrightText: The heed authors\n# SPDX-License-Identifier: Apache-2.0\n"
        "# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.\n")
ONLY = "ns=1 cap=0 sink=none lse=none s0.nb=0 s0.lay=dense ql=dense"
SMALL = "nq=1,2,7,33 s0.nk=1,3,16,33,65 d=1,2,8,16,33,64 dv=1,2,8,16,33,64"
BOTH = ("nq=1,2,7,33,130 s0.nk=1,3,16,33,65,257,1030 d=1,2,8,16,33,64,128 "
        "dv=1,2,8,16,33,64,128")
LARGE = "nq=33,130 s0.nk=65,257,1030 d=16,64,128 dv=16,64,128 h=2,4 batch=2,1"


def transposed(x):
    """The heads inside the rows."""
    return x.swapaxes(1, 2).copy().swapaxes(1, 2)


def shifted(x, by=1):
    """So many elements behind an aligned place."""
    y = np.empty(x.size + 128, x.dtype)
    first = -y.ctypes.data % 64 // x.itemsize + by
    y = y[first:first + x.size].reshape(x.shape)
    y[:] = x
    return y


def aligned(x):
    return shifted(x, 0)


LAYOUTS = {"transposed": transposed, "shifted": shifted}


class Kernel:
    """An adapter's function for one element type."""

    def __init__(self, name, kind):
        for path in sorted(FOLDER.glob("*.py")):
            if f'"{name}"' in path.read_text(encoding="utf-8"):
                self.path, self.module = path, importlib.import_module(path.stem)
        self.name, self.kind, self.more = name, kind, self.module.KERNELS[name]
        self.takes = self.module.TAKES
        names = inspect.signature(self.module.attention).parameters
        self.masks, self.threads = "mask" in names, "threads" in names
        self.dense = getattr(self.module, "DENSE", False)
        self.needs = ["scale", *self.takes]
        if self.masks:
            self.needs += ["causal", "causal_end", "band"]

    def refuse(self, case, *more):
        case.takes(*self.needs, *more)
        if any(getattr(case, x).dtype != {"f32": "f4", "f16": "f2"}[self.kind] for x in "qkv"):
            raise heed.Refused("dtype", "that of the row alone: a smaller case may have another")
        if getattr(self.module, "SCALE_ABOVE_0", False) and case.scale <= 0:
            raise heed.Refused("scale", "it must be greater than 0")
        if case.d % getattr(self.module, "MULTIPLE", 1):
            raise heed.Refused("d", "not such a number")
        if getattr(self.module, "MORE_ROWS_ALONE", False) and 1 < case.rows < case.keys and \
                case.items > 1:
            raise heed.Refused("batch", "one item for rows behind a cache")
        ends = case.sees == "causal_end" or case.sees == "everything" and case.rows == 1
        if not self.masks and (not ends or case.rows > case.keys):
            raise heed.Refused("mask", "only rows that end where the keys end")

    def call(self, given, **more):
        """given: q, k, v, scale and mask."""
        if self.masks and given["mask"] is not None:
            more["mask"] = given["mask"]
        try:
            return self.module.attention(given["q"], given["k"], given["v"], given["scale"],
                                         **self.more, **more)
        except RuntimeError as why:
            if str(why).startswith(getattr(self.module, "LACKING", "\0")):
                raise heed.Refused("kernel", str(why)) from None
            raise


def masked_always(line):
    """Half of the cases give a mask in all of their forms, the other half in none: so a property is
    never that of calls with a mask against calls without one."""
    return zlib.crc32(line.encode()) % 2 == 0


def given_of(case, alike=False):
    seen = None
    if alike and masked_always(case.line):
        seen = case.mask()
    elif case.sees != "everything":
        if alike:
            raise heed.Refused("mask", "this case is judged without one")
        seen = case.mask()
    return {**{name: aligned(getattr(case, name)) for name in "qkv"},
            "scale": float(case.scale), "mask": seen}


def levels(*texts):
    """Texts of --only as one; the last one that names a field has its say."""
    fields = dict(word.split("=", 1) for text in texts for word in text.split())
    return " ".join(f"{name}={values}" for name, values in fields.items())


def only(kernel, *more):
    types = " ".join(f"{x}={kernel.kind}" for x in ("q", "o", "s0.k", "s0.v"))
    heads = () if "grouped" in kernel.takes else ("s0.hk=h",)
    return " ".join((ONLY, types, *more, *heads, *(("s0.causal=yes s0.end=yes s0.mask=none s0.rmask=none",)
                                           if not kernel.masks else ())))


# ---- what is judged --------------------------------------------------------------------------------


def plain(kernel, cases, more=(), wanted=(), alike=False, **how):
    def judged(q, k, v, *, case):
        kernel.refuse(case, *more)
        if wanted and not set(wanted) <= set(case.needs):
            raise heed.Refused("plain", "not the property")
        return kernel.call(given_of(case, alike and kernel.masks))
    return heed.conform(judged, cases, **how)


def bound(kernel, cases):
    return plain(kernel, cases, only=only(kernel, SMALL))


def bits(kernel, cases):
    return plain(kernel, cases, only=only(kernel, SMALL, "fill=normal,exact,ties"), claim="exact")


def blank(kernel, cases):
    if not kernel.masks:
        return None
    return plain(kernel, cases, ("blank",), ("blank",),
                 only=only(kernel, SMALL, "fill=normal s0.mask=1,h s0.rmask=none,bytes"))


def unseen(kernel, cases):
    if not kernel.masks:
        return None
    return plain(kernel, cases, ("nonfinite",), ("nonfinite",),
                 only=only(kernel, SMALL, "fill=special s0.mask=1,h s0.causal=yes,no"))


def invariant(name):
    def judged(kernel, cases):
        few = " nq=1 d=16,64,128 dv=16,64,128" if getattr(
            kernel.module, "MORE_ROWS_ALONE", False) else ""
        items = "batch=2,3" + few if name == "batch" else ""
        return plain(kernel, cases, only=levels(only(kernel, BOTH, "fill=normal"), items),
                     properties=[name], alike=True)
    return judged


def again(kernel, cases, sizes, forms):
    """A second run in another form: its words stand where the first run's are wanted."""
    def judged(q, k, v, *, case):
        kernel.refuse(case)
        given = given_of(case, kernel.masks)
        first = kernel.call(given)
        if "form" not in case.said:
            return first
        for form in forms:
            made = form(given)
            if not np.array_equal(made, first, equal_nan=True):
                return made
        return first
    return heed.conform(judged, cases, only=only(kernel, sizes, "fill=normal"),
                        properties=["repeat"])


def threads(kernel, cases):
    if not kernel.threads:
        return None
    return again(kernel, cases, LARGE,
                 [lambda given, n=n: kernel.call(given, threads=n) for n in THREADS])


def laid(given, layout):
    return {**given, **{name: layout(given[name]) for name in "qkv"}}


def layout(kernel, cases):
    forms = [lambda given, l=l: kernel.call(laid(given, l)) for name, l in LAYOUTS.items()
             if not (kernel.dense and name == "transposed")]
    return again(kernel, cases, SMALL, forms)


PROPERTIES = {"bound": bound, "repeat": invariant("repeat"), "threads": threads, "layout": layout,
              "batch": invariant("batch"), "chunk": invariant("chunk"), "blank": blank,
              "unseen": unseen, "bits": bits}
# Verdicts of the kit that are the property's, where others come as well.
VERDICTS = {"unseen": ("nan",), "bits": ("bits",), "blank": ("bound", "nan", "exact")}
MUST_SAY = {"blank": "an empty row"}
KEPT = re.compile(r"^# (\w+) +(kept|broken): (\d+) cases", re.MULTILINE)

# ---- a program that shows a break ------------------------------------------------------------------


def case_of(line, alike):
    found = {}

    def look(q, k, v, *, case):
        found.update(given_of(case, alike))
        raise heed.Refused("look")
    heed.conform(look, line=line, mixed=True)
    return {name: x.copy() if hasattr(x, "copy") else x for name, x in found.items()}


def pair_of(name, given, masks):
    """Two calls whose results should have the same words, as texts, and lines before them."""
    call = "attention({q}, {k}, {v}, scale{mask}{more})"

    def text(q="q", k="k", v="v", mask="seen", more=""):
        mask = f", mask={mask}" if given["mask"] is not None else ""
        return call.format(q=q, k=k, v=v, mask=mask, more="{more}" + more)
    whole, rows = text(), given["q"].shape[2]
    if name == "repeat":
        yield whole, whole
    if name == "threads":
        for n in THREADS:
            yield whole, text(more=f", threads={n}")
    if name == "layout":
        for one in LAYOUTS:
            yield whole, text(*(f"{one}({x})" for x in "qkv"))
    if name == "batch":
        for items in [*([int(x)] for x in range(len(given["q"]))), [1, 0]]:
            if len(given["q"]) > 1:
                yield f"{whole}[{items}]", text(*(f"{x}[{items}]" for x in "qkv"), f"seen[{items}]")
    if name == "chunk":
        for low, high in [(0, 1), (rows - 1, rows), (rows // 2, rows // 2 + 1), (0, (rows + 1) // 2),
                          ((rows + 1) // 2, rows)]:
            # Without a mask the last row sees the last key: only what ends there is a part.
            if rows > 1 and high > low and (masks or high == rows):
                cut = f"[:, :, {low}:{high}]"
                yield whole + cut, text(q=f"q{cut}.copy()", mask=f"seen{cut}.copy()")
        for more in (1, 7, 16, 32, 64):
            if given["mask"] is not None:
                setup = [f"pad = ((0, 0), (0, 0), (0, {more}), (0, 0))",
                         "longer = np.pad(seen, pad[:2] + pad[3:] + pad[2:3])"]
                yield whole, text(k="np.pad(k, pad)", v="np.pad(v, pad)", mask="longer"), *setup


def number_text(x):
    words = {2: "u2", 4: "u4"}[x.itemsize]
    texts = [f"0x{int(w):0{2 * x.itemsize}x}" for w in x.ravel().view(words)]
    kind = {2: '"f2"', 4: '"f4"'}[x.itemsize]
    return texts, f'"{words}").view({kind}).reshape({", ".join(map(str, x.shape))})'


def wrapped(texts, before, after, width=98):
    lines, line = [], before
    for i, text in enumerate(texts):
        word = text + (", " if i + 1 < len(texts) else "")
        if len(line + word.rstrip()) > width:
            lines.append(line.rstrip())
            line = "    "
        line += word
    if len(line + after) > width:
        lines.append(line.rstrip())
        line = "    "
    return "\n".join([*lines, line + after])


def data_text(given):
    """The arrays as words, if they are few."""
    lines = []
    for name in "qkv":
        texts, after = number_text(np.ascontiguousarray(given[name]))
        lines.append(wrapped(texts, f"{name} = np.array([", f"], {after}"))
    return "\n".join(lines)


def drawn(given, seed):
    made, kind = np.random.default_rng(seed), given["q"].dtype
    return {**given, **{name: made.standard_normal(given[name].shape).astype(kind)
                        for name in "qkv"}}


def grown(given):
    """More heads and channels: more words that can differ."""
    size = {name: list(given[name].shape) for name in "qkv"}
    for one in size.values():
        one[1] *= 4
    size["v"][3] = max(size["v"][3], 16)
    seen = given["mask"]
    return {**given, **{name: np.zeros(size[name], given["q"].dtype) for name in "qkv"},
            "mask": None if seen is None else np.concatenate([seen] * 4, 1)}


def drawn_text(given, seed):
    shapes = ", ".join(str(given[name].shape) for name in "qkv")
    kind = {2: "f2", 4: "f4"}[given["q"].itemsize]
    return (f"draw = np.random.default_rng({seed}).standard_normal\n"
            f'q, k, v = (draw(shape).astype("{kind}") for shape in ({shapes}))')


def mask_text(given):
    if given["mask"] is None:
        return ""
    seen = given["mask"]
    if seen.size > 1 and seen.all():
        return f"seen = np.ones({seen.shape}, bool)\n"
    flat = "".join("01"[int(x)] for x in seen.ravel())
    parts = [flat[i:i + 80] for i in range(0, len(flat), 80)]
    joined = "\n    ".join(f'"{part}"' for part in parts)
    return (f"seen = np.array([x == \"1\" for x in {joined}]).reshape"
            f"({', '.join(map(str, seen.shape))})\n")


def sources(kernel, name, expressions):
    """The adapter's text up to what is for the judge."""
    text = kernel.path.read_text(encoding="utf-8").split('"""', 2)[2].strip()
    text = text[:text.index("\n\n\nPROJECT")]
    if "import numpy" not in text:
        lines = text.split("\n")
        own = next(i for i, line in enumerate(lines) if line.startswith(("import", "from")))
        lines.insert(own, "import numpy as np")
        text = "\n".join(lines)
    if name == "layout":
        for one, function in LAYOUTS.items():
            if one + "(" in expressions:
                source = re.sub(r'\n    """.*?"""', "", inspect.getsource(function), flags=re.DOTALL)
                text += "\n\n\n" + source.rstrip()
    return text


def program(kernel, name, data, scale, end, comment):
    body = "\n".join(line for line in (data, re.sub(r"\bscale\b", repr(scale), end)) if line)
    text = f"{HEAD}# {comment}\n{sources(kernel, name, end)}\n\n\n{body}\n"
    counted = [line for line in text.splitlines() if line.strip() and line[0] != "#"]
    return text, len(counted)


def shows(path):
    done = subprocess.run([sys.executable, "-W", "ignore", path], capture_output=True, text=True,
                          check=False, timeout=300)
    return done.returncode == 0, (done.stdout + done.stderr).strip()


def more_text(kernel):
    return "".join(f', {key}="{value}"' for key, value in kernel.more.items())


def differ(kernel, given, texts, setup, place):
    """Are the results of the texts of pair_of different, with arrays laid by `place`?"""
    def attention(q, k, v, *more, **how):
        return kernel.module.attention(place(q), place(k), place(v), *more, **how)
    names = {**given, "seen": given["mask"], "np": np, "attention": attention, **LAYOUTS}
    exec("\n".join(setup), names)
    one, other = (eval(text.format(more=more_text(kernel)), names) for text in texts)
    return one.shape == other.shape and not np.array_equal(one, other, equal_nan=True)


def pair_program(kernel, name, given, _, comment):
    """A break of a property that two calls show: on the case's numbers if they are few, else on
    drawn ones."""
    few = sum(given[x].size for x in "qkv") <= 60
    tries = ([(given, data_text(given))] if few else []) + \
        [(drawn(one, seed), drawn_text(one, seed)) for one in (given, grown(given))
         for seed in range(SEEDS)]
    for numbers, data in tries:
        for one, other, *setup in pair_of(name, numbers, kernel.masks):
            places = [lambda x: x] + ([aligned] if name != "layout" else [])
            if all(differ(kernel, numbers, (one, other), setup, place) for place in places):
                more = more_text(kernel)
                end = "".join(line + "\n" for line in setup)
                end += (f"one = {one.format(more=more)}\nother = {other.format(more=more)}\n"
                       "print(one[one != other], other[one != other])\n"
                       "raise SystemExit(not (one != other).any())")
                return program(kernel, name, mask_text(numbers) + data, given["scale"], end,
                               comment)
    return None


WHERE = re.compile(r"at b=(\d+) h=(\d+) row=(\d+) channel=(\d+)(?:: wanted (\S+))?")


def value_program(kernel, name, given, reason, comment):
    """A break that one call shows."""
    found = WHERE.search(reason)
    at = [int(x) for x in found.groups()[:4]]
    mask = "" if given["mask"] is None else ", mask=seen"
    call = f"o = attention(q, k, v, scale{mask}{more_text(kernel)})\n"
    place = f"o[{', '.join(map(str, at))}]"
    if name == "bits":
        words = {"f32": "u4", "f16": "u2"}[kernel.kind]
        end = (f'got = {place}.view("{words}")\n'
               f'print(f"{{got:#x}}, the reference {found.group(5)}")\n'
               f"raise SystemExit(bool(got == {found.group(5)}))")
    elif name == "bound":
        ratio = float(re.search(r"error/bound (\S+?)[,;)]*(?:\s|$)", reason).group(1))
        b, h, i, c = at
        group = given["q"].shape[1] // given["k"].shape[1]
        seen = "" if given["mask"] is None else f"s = np.where(seen[{b}, {h}, {i}], s, -np.inf)\n"
        end = (f"s = k[{b}, {h // group}].astype(float) @ q[{b}, {h}, {i}] * scale\n{seen}"
               f"p = np.exp(s - s.max())\n"
               f"error = abs({place} - p @ v[{b}, {h // group}, :, {c}] / p.sum())\n"
               "print(error, {allowed})\nraise SystemExit(bool(error <= {allowed}))")
        o = kernel.call(given)
        s = given["k"][b, h // group].astype(float) @ given["q"][b, h, i].astype(float)
        s = s * given["scale"]
        if given["mask"] is not None:
            s = np.where(given["mask"][b, h, i], s, -np.inf)
        p = np.exp(s - s.max())
        error = abs(float(o[b, h, i, c]) - p @ given["v"][b, h // group, :, c] / p.sum())
        end = end.replace("{allowed}", f"{error / ratio:.4g}")
    elif name == "blank":
        end = f"print({place})\nraise SystemExit(bool({place} == 0))"
    else:
        b, h, i, _ = at
        where = f"[{b}, {h // (given['q'].shape[1] // given['k'].shape[1])}, ~seen[{b}, {h}, {i}]]"
        end = (f"k{where} = v{where} = 0\n"
               f"other = attention(q, k, v, scale{mask}{more_text(kernel)})\n"
               f"print({place}, other{place[1:]})\n"
               f"raise SystemExit(bool(np.isfinite({place}) or np.isnan(other{place[1:]})))")
    return program(kernel, name, mask_text(given) + data_text(given), given["scale"],
                   call + end, comment)


def drawn_program(kernel, given, comment):
    """For bits, where a case has too many numbers to write down: some that NumPy draws, and the
    word of heed's reference."""
    if given["mask"] is not None:
        return None
    for seed in range(SEEDS):
        one = drawn(given, seed)
        word = f"u{one['q'].itemsize}"
        wanted = heed.attention(one["q"], one["k"], one["v"], scale=one["scale"], device="reference")
        other = np.argwhere(kernel.call(one).view(word) != wanted.view(word))
        if len(other):
            at = tuple(map(int, other[0]))
            end = (f"o = attention(q, k, v, scale{more_text(kernel)})\n"
                   f'got = o[{", ".join(map(str, at))}].view("{word}")\n'
                   f'print(f"{{got:#x}}, the reference {wanted.view(word)[at]:#x}")\n'
                   f"raise SystemExit(bool(got == {wanted.view(word)[at]:#x}))")
            return program(kernel, "bits", drawn_text(one, seed), one["scale"], end, comment)
    return None


def of_unseen(kernel, failure):
    """Is the row finite when the keys that it does not see are 0? Else its NaN has other reasons."""
    for line, reason in ((failure.shrunk, failure.shrunk_reason), (failure.line, failure.reason)):
        found = WHERE.search(reason) if line else None
        if found:
            break
    else:
        return False  # no element: another fault, such as a call that takes too long
    given = case_of(line, False)
    if given["mask"] is None:
        return False
    b, h, i, c = (int(x) for x in found.groups()[:4])
    group = given["q"].shape[1] // given["k"].shape[1]
    for name in "kv":
        given[name][b, h // group, ~given["mask"][b, h, i]] = 0
    return not np.isnan(kernel.call(given)[b, h, i, c])


def break_written(kernel, name, failures, folder):
    """The first failure that a program shows; what is told of it."""
    tries = [(line, reason) for failure in failures
             for line, reason in ((failure.shrunk, failure.shrunk_reason),
                                  (failure.line, failure.reason)) if line]
    for line, reason in tries:
        one = name in ("bound", "bits", "blank", "unseen")
        if one and not WHERE.search(reason):
            continue
        given = case_of(line, kernel.masks and not one)
        if not kernel.masks:
            given["mask"] = None
        make = value_program if one else pair_program
        comment = f"{kernel.name} {kernel.kind}, {name}: {line}"
        made = make(kernel, name, given, reason, comment)
        if name == "bits" and (made is None or made[1] > LINES):
            made = drawn_program(kernel, given, comment)
        if made is None or made[1] > LINES:
            continue
        path = folder / f"{kernel.name}-{kernel.kind}-{name}.py"
        path.write_text(made[0], encoding="utf-8")
        good, said = shows(path)
        if good:
            return {"case": line, "reason": reason, "program": path.name, "lines": made[1],
                    "said": said}
        path.unlink()
    failure = failures[0]
    return {"case": failure.shrunk or failure.line,
            "reason": failure.shrunk_reason or failure.reason, "program": None}


def judge(kernel, name, cases, folder):
    began = time.monotonic()
    result = PROPERTIES[name](kernel, cases)
    if result is None:
        return {"verdict": "not expressible"}
    found = dict((p, int(n)) for p, _, n in KEPT.findall(result.output))
    failures = [f for f in result.failures if f.verdict in VERDICTS.get(name, (f.verdict,))]
    failures = [f for f in failures if MUST_SAY.get(name, "") in f.shrunk_reason + f.reason]
    if name == "unseen":
        failures = [f for f in failures if of_unseen(kernel, f)]
    told = {"cases": found.get(name, found.get("repeat", len(result.lines))),
            "failed": len(failures), "worst": result.worst,
            "seconds": round(time.monotonic() - began, 1)}
    told["others"] = sorted({f.verdict for f in result.failures} - {f.verdict for f in failures})
    if failures:
        failures.sort(key=lambda f: (not f.shrunk, len(f.shrunk or f.line)))
        return {**told, "verdict": "broken", **break_written(kernel, name, failures, folder)}
    return {**told, "verdict": "kept" if told["cases"] else "not expressible"}


def main():
    name, kind, cases, folder, *names = sys.argv[1:]
    sys.path.insert(0, str(FOLDER))
    kernel = Kernel(name, kind)
    told = {"kernel": name, "type": kind, "project": kernel.module.PROJECT,
            "versions": [f"{x} {importlib.metadata.version(x)}" for x in kernel.module.PACKAGES],
            "about": kernel.module.__doc__.split(";")[0].strip().rstrip(".")}
    if hasattr(kernel.module, "VERSION"):
        told["versions"].append(kernel.module.VERSION)
    for one in names or PROPERTIES:
        told[one] = judge(kernel, one, int(cases) // getattr(kernel.module, "COMPILES", 1),
                          pathlib.Path(folder))
        print(one, told[one], file=sys.stderr, flush=True)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
