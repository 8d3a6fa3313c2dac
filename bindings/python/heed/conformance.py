# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""heed.conform(): a callable of Python under heed-conform, which judges it as it judges heed's own
devices. heed-conform runs beside this process, asks for cases, and is answered from here."""

from __future__ import annotations

import html
import inspect
import json
import os
import pathlib
import shutil
import subprocess
import sysconfig
import tempfile
import traceback
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable

import numpy

from ._native import library
from .case import MAKERS, Asked, Case, Refused, to_file

# ---- heed-conform ------------------------------------------------------------------------------


def _places():
    here, name = pathlib.Path(__file__).parent, "heed-conform"
    if os.environ.get("HEED_CONFORM"):
        yield pathlib.Path(os.environ["HEED_CONFORM"])
        return
    yield here / "bin" / name
    yield here / name
    yield pathlib.Path(sysconfig.get_path("scripts")) / name
    yield pathlib.Path(library._name).parent / "tools" / name       # a build folder's
    if shutil.which(name):
        yield pathlib.Path(shutil.which(name))


def program() -> str:
    """Where heed-conform is."""
    tried = list(_places())
    for place in tried:
        if place.is_file():
            return str(place)
    raise FileNotFoundError("heed-conform was not found: name it in the environment variable "
                            f"HEED_CONFORM. Looked for: {', '.join(map(str, tried))}")


# ---- a kernel and its parameters ----------------------------------------------------------------

# What a parameter of the kernel's is given; and which needs of a case it is good for.
PARAMETERS = {
    "case": (lambda case: case, ()),
    "scale": (lambda case: case.scale, ("scale",)),
    "softcap": (lambda case: case.softcap, ("softcap",)),
    "causal": (lambda case: case.causal, ("causal", "causal_end")),
    "window": (lambda case: case.window, ("causal", "causal_end", "band")),
    "mask": (lambda case: case.mask(), ("causal", "causal_end", "band", "mask")),
    "bias": (lambda case: case.bias(), ("bias",)),
    "joined": (lambda case: case.joined(), ("joined",)),
    "sinks": (lambda case: case.sinks, ("sinks",)),
    "lse": (lambda case: case.lse, ("lse",)),
    "h_q": (lambda case: case.h_q, ()),
    "h_kv": (lambda case: case.h_kv, ()),
}
# One of these says what is seen; the first that can is used, and the others are None.
SEEN = ("causal", "window", "mask")
# Needs of which the arrays themselves tell.
IN_ARRAYS = ("grouped", "d_v", "empty", "blank", "nonfinite", "types", "lse")
NEEDS = {"sources", "layout", *IN_ARRAYS, *(n for _, needs in PARAMETERS.values() for n in needs)}


class _Kernel:
    def __init__(self, function, refuse, mixed):
        names = list(inspect.signature(function).parameters.values())
        extra = [p for p in names[3:] if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        unknown = [p.name for p in extra if p.name not in PARAMETERS and p.default is p.empty]
        if len(names) < 3 or unknown:
            raise TypeError("a kernel takes q, k, v and then any of "
                            f"{', '.join(PARAMETERS)}; not {', '.join(unknown) or 'fewer'}")
        self.function = function
        self.names = [p.name for p in extra if p.name in PARAMETERS]
        self.by_name = [p.name for p in extra if p.kind is p.KEYWORD_ONLY]
        if isinstance(refuse, str):
            raise TypeError(f"refuse: a list of needs, not the text {refuse!r}")
        refuse = tuple(refuse)
        wrong = [need for need in refuse if need and need not in NEEDS]
        if wrong:
            raise ValueError(f"refuse: no need is called {wrong[0]!r}; "
                             f"there are {', '.join(sorted(NEEDS))}")
        self.refuse = refuse + (() if mixed else ("types",))

    def _refuse(self, case):
        good = IN_ARRAYS + tuple(n for name in self.names for n in PARAMETERS[name][1])
        for need in case.needs:
            if need in self.refuse:
                raise Refused(need, "left out")
            if need not in good and "case" not in self.names:
                raise Refused(need, "the kernel has no parameter for it")

    def _arguments(self, case):
        chosen = next((name for name in SEEN if name in self.names
                       and case.sees in PARAMETERS[name][1]), None)
        return {name: None if name in SEEN and name != chosen else PARAMETERS[name][0](case)
                for name in self.names}

    def __call__(self, case):
        self._refuse(case)
        return self.function(case.q, case.k, case.v, **self._arguments(case))


# ---- results -------------------------------------------------------------------------------------


@dataclass
class Failure:
    """A case that failed: its line, the reason, what the case needs, and the traceback, if any."""
    line: str
    reason: str
    needs: list = field(default_factory=list)
    traceback: str = ""
    shrunk: str = ""            # the line of a smaller case that fails in the same way
    shrunk_reason: str = ""

    @property
    def verdict(self) -> str:
        """The first word of the reason: docs/testing-kernels.md has them."""
        return self.reason.partition(":")[0]

    def __str__(self):
        if not self.shrunk:
            return f"{self.reason}\n    case: {self.line}"
        return f"{self.shrunk_reason or self.reason}\n    case: {self.shrunk}"

    def arrays(self, kind: str = "numpy") -> dict:
        """The arrays of the smaller case, or of the case, by name: to look at."""
        found = {}

        def look(q, k, v, case):
            found.update((name, case.array(name)) for name in case.names)
            raise Refused("look", "")
        conform(look, line=self.shrunk or self.line, arrays=kind, mixed=True)
        return found


@dataclass
class Result:
    """What heed-conform found. True, if nothing failed and elements of outputs were judged."""
    name: str
    claim: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    worst: float = 0.0          # largest error as a share of its bound
    refused: dict = field(default_factory=dict)     # questions and cases, by field
    failures: list = field(default_factory=list)
    lines: list = field(default_factory=list)       # of cases that were computed
    output: str = ""            # of heed-conform: TAP
    good: bool = False          # what its exit status says
    needs: dict = field(default_factory=dict)       # of cases: how often they passed, failed
    properties: tuple = ()      # that were asked for

    def __bool__(self):
        return self.good

    def __str__(self):
        claims = {"exact": "the reference's bits", "repeat": "repeatable bits", "fast": "the bound"}
        asked = ("properties " + ", ".join(self.properties) if self.properties
                 else "claims " + claims[self.claim])
        lines = [f"{self.name}: {self.passed} passed, {self.failed} failed, "
                 f"{self.skipped} skipped; {asked}"]
        lines += [line[2:] for line in self.output.splitlines()
                  if self.properties and line.startswith("# ") and
                  line[2:].partition(" ")[0].rstrip(":") in self.properties]
        if self.lines and not self.properties:
            lines.append(f"largest error/bound {self.worst:.4g}")
        if self.refused:
            lines.append("refused by field: " + ", ".join(
                f"{name} {n}" for name, n in sorted(self.refused.items(), key=lambda x: -x[1])))
        for verdict, failures in self.by_verdict().items():
            lines.append(f"{verdict}: {len(failures)} cases, such as")
            lines.append(f"  {min(failures, key=lambda f: len(f.shrunk or f.line))}")
        if self.failed:
            lines.append("needs of failed cases: " + (", ".join(self.suspects()) or "none"))
        if not self.failed and not self.good:
            lines.append(f"no pass: {self.why}")
        return "\n".join(lines)

    @property
    def why(self) -> str:
        """Why a run in which nothing failed is no pass, as heed-conform says it; "" of others."""
        found = [line.partition(": ")[2] for line in self.output.splitlines()
                 if line.startswith("# no success: ")]
        return "" if self.failed or self.good else (found or ["nothing was judged"])[0]

    def by_verdict(self) -> dict:
        """The failures by the first word of their reason, most first."""
        groups = {}
        for failure in self.failures:
            groups.setdefault(failure.verdict, []).append(failure)
        return dict(sorted(groups.items(), key=lambda item: -len(item[1])))

    def suspects(self) -> list:
        """What failed cases need: "name 5 of 7", the likeliest culprits first."""
        found = [(failed / (passed + failed), failed, passed + failed, name)
                 for name, (passed, failed) in self.needs.items() if failed]
        return [f"{name} {failed} of {n}" for _, failed, n, name in sorted(found, reverse=True)]

    def _repr_html_(self):
        rows = "".join(f"<tr><td>{html.escape(f.verdict)}</td><td>{html.escape(f.reason)}</td>"
                       f"<td><code>{html.escape(f.shrunk or f.line)}</code></td></tr>"
                       for f in self.failures[:20])
        table = f"<table><tr><th>verdict</th><th>reason</th><th>case</th></tr>{rows}</table>"
        return (f"<p><b>{html.escape(self.name)}</b>: {self.passed} passed, {self.failed} failed, "
                f"{self.skipped} skipped; largest error/bound {self.worst:.4g}</p>"
                + (table if rows else ""))

    def check(self) -> Result:
        """Raises an AssertionError with all that is known, unless the kernel passed."""
        if not self:
            raise AssertionError(str(self))
        return self


# ---- answers -------------------------------------------------------------------------------------


class _Session:
    def __init__(self, kernel, arrays, strict, result):
        self.kernel, self.arrays, self.strict, self.result = kernel, arrays, strict, result
        self.seen = {}      # needs and traceback of a case, by its line

    def _plain(self, array):
        """A kernel of somebody else's need not know which zero and which NaN heed writes."""
        if self.strict or array.dtype.kind not in "fu":
            return array
        if array.dtype.kind == "u":     # bfloat16
            magnitude = array & 0x7fff
            return numpy.where(magnitude > 0x7f80, 0x7fc0,
                               numpy.where(magnitude == 0, 0, array)).astype("uint16")
        made = array + array.dtype.type(0)
        made[numpy.isnan(made)] = numpy.nan
        return made

    def _compute(self, case):
        with numpy.errstate(all="ignore"):
            made = self.kernel(case)
        changed = case.changed()
        if changed:
            return {"status": "error", "why": f"the kernel wrote to its input {changed}"}
        outputs = case.said["outputs"]
        if not isinstance(made, tuple):
            made = (made,)
        if len(made) < len(outputs):
            raise Refused("lse", "the kernel returns o alone")
        for name, array in zip(("o", "lse"), made):
            if name in outputs:
                if array is None:
                    return {"status": "error", "why": f"the kernel returns None for {name}"}
                array = to_file(array)
                numpy.save(outputs[name]["file"],
                           self._plain(array) if array.ndim else array)
        return {"status": "ok"}

    def answer(self, said):
        case = Case(said, self.arrays)
        self.seen[case.line] = (case.needs, "")
        try:
            return self._compute(case)
        except Asked:
            return {"status": "unknown"}
        except Refused as why:
            name, text = why.field, why.why
        except NotImplementedError as why:
            name, text = "not implemented", str(why)
        except Exception as why:    # the verdict is heed-conform's
            self.seen[case.line] = (case.needs, traceback.format_exc())
            return {"status": "error", "why": f"{type(why).__name__}: {why}"[:300]}
        return {"status": "refused", "field": name, "why": text[:300]}

    def read(self, results):
        """What heed-conform says of each case, a line of JSON each."""
        result = self.result
        for said in map(json.loads, results):
            if said["type"] != "case":
                continue
            result.worst = max(result.worst, said.get("error_over_bound") or 0)
            if said["status"] == "skip":
                result.skipped += 1
                continue
            failed, line = said["status"] != "pass", said["case"]
            needs, trace = self.seen.get(line, ([], ""))
            result.lines.append(line)
            result.passed += not failed
            result.failed += failed
            for need in needs:
                times = result.needs.get(need, (0, 0))
                result.needs[need] = (times[0] + (not failed), times[1] + failed)
            if failed:
                result.failures.append(Failure(
                    line, said.get("reason", ""), needs, trace, said.get("shrunk", ""),
                    said.get("shrunk_reason", "")))


def _serve(answer, arguments):
    """Answers heed-conform until it ends. Returns what it printed, and whether all was good."""
    questions, theirs_out = os.pipe()
    theirs_in, answers = os.pipe()
    with tempfile.TemporaryFile() as printed, os.fdopen(questions, "r") as asked, \
            os.fdopen(answers, "w") as to:
        child = subprocess.Popen(
            [program(), "--peer", f"fd:{theirs_in},{theirs_out}", "--ask", *arguments],
            pass_fds=(theirs_in, theirs_out), stdout=printed, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, start_new_session=True)
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            for line in asked:
                to.write(json.dumps(answer(json.loads(line))) + "\n")
                to.flush()
        except BrokenPipeError:
            pass
        except BaseException:
            child.terminate()   # it takes its files away
            raise
        finally:
            child.wait()
        printed.seek(0)
        output = printed.read().decode(errors="replace")
    if child.returncode not in (0, 1, 3):
        raise ValueError(output.strip().splitlines()[0] if output else "heed-conform failed")
    return output, child.returncode == 0


def _arguments(cases, only, seed, timeout):
    return ["--cases", str(cases), "--seed", str(seed), "--timeout", str(timeout),
            *(["--only", only] if only else [])]


def _properties(given):
    """Names of properties; a callable has no workers."""
    if isinstance(given, str):
        raise TypeError(f"properties: wanted a list of names, got the text {given!r}")
    given = tuple(given)
    if "threads" in given:
        raise ValueError("properties: threads cannot be asked of a callable: it is handed no workers")
    return given


def _session(kernel, claim, arrays, refuse, mixed, strict):
    if arrays not in MAKERS:
        raise ValueError(f"arrays: {' or '.join(MAKERS)}, not {arrays!r}")
    return _Session(_Kernel(kernel, refuse, mixed), arrays, strict or claim == "exact",
                    Result(getattr(kernel, "__name__", str(kernel)), claim))


def _refusals(output):
    """How often which field, as "# peer: accepted 9 cases, refused 3: types 2, lse 1" says it."""
    line = next((x for x in output.splitlines() if x.startswith("# peer: accepted")), "")
    fields = line.partition(": ")[2].partition(": ")[2].split(", ")
    pairs = (pair.rpartition(" ") for pair in fields)
    return {name: int(times) for name, _, times in pairs if times}


def conform(kernel: Callable, cases: int = 500, *, only: str | None = None, claim: str = "fast",
            seed: int = 1, arrays: str = "numpy", refuse: Iterable[str] = (), mixed: bool = False,
            strict: bool = False, timeout: int = 120, shrink: int = 5, line: str | None = None,
            properties: Iterable[str] = ()) -> Result:
    """Puts a callable under heed's conformance kit: drawn cases, and a bound for every element.

    kernel(q, k, v, ...) returns o or (o, lse). Of its further parameters each gets what PARAMETERS
    says: scale, softcap, causal, window, mask, bias, joined, sinks, lse, h_q, h_kv, case. A case
    that needs more than that is refused in its name; so is one for which the kernel raises
    heed.Refused or NotImplementedError.

    cases: how many shall be computed. only: axes that they are drawn from, as `heed-conform --list`
    names them: "q=f32,f16 s0.causal=yes". claim: "fast" (within the bound), "repeat" (and the same
    bits twice) or "exact" (the reference's bits). arrays: "numpy", "torch" or "jax". refuse: needs
    of cases that are left out. mixed: also q, k, v and o of different types. strict: judge the sign
    of zeros and the bits of NaN too. shrink: how many failures are made smaller. line: only that
    case. timeout: seconds for a case, after which heed-conform gives up. properties: "batch",
    "chunk", "repeat", "layout"; instead of right and wrong it is judged whether the kernel keeps
    these, as docs/testing-kernels.md has them.

    It judges attention alone; kernels of other operations are judged as plug-ins.

    The kernel runs in this process, which a crash of it ends; what never returns is not interrupted.
    """
    properties = _properties(properties)
    if line and "op=" in line and "op=attn" not in line:
        raise ValueError(f"line: wanted a case of op=attn, got {line!r}")
    session = _session(kernel, claim, arrays, refuse, mixed, strict)
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder) / "results"
        output, session.result.good = _serve(session.answer, [
            *_arguments(cases, only, seed, timeout), "--claim", claim, "--shrink", str(shrink),
            "--json", str(results), *(["--once"] if claim == "fast" else []),
            *(["--case", line] if line else []),
            *(["--property", ",".join(properties)] if properties else [])])
        if results.is_file():
            session.read(results.read_text().splitlines())
    session.result.output = output
    session.result.properties = properties
    session.result.refused = _refusals(output)
    return session.result


def cases(kernel: Callable | None = None, number: int = 50, *, only: str | None = None,
          seed: int = 1, arrays: str = "numpy", refuse: Iterable[str] = (), mixed: bool = False,
          timeout: int = 120) -> list:
    """Lines of cases that a kernel takes, or of any at all: for a test of each."""
    answer = (lambda said: {"status": "ok"}) if kernel is None else \
        _session(kernel, "fast", arrays, refuse, mixed, False).answer
    output, _ = _serve(answer, [*_arguments(number, only, seed, timeout), "--lines"])
    return [line for line in output.splitlines() if line.startswith("op=")]
