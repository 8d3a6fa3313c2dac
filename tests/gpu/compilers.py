# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The three vendors' compilers: where they are, which targets they know, and how a row of
kernels.def goes through them. scripts/setup --gpu-compilers installs them.
"""

import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import amd
import devices
import intel
import marks
import nvidia
from steady import Steady

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(TOP / "backends/device"), str(TOP / "backends/cuda")]
sys.dont_write_bytecode = True
import cubins                   # noqa: E402
import sources                  # noqa: E402

# What the backends tell compilers of a device: the rows of a strip and the like. They choose it in
# backends/opencl/devices.c, program.c and backends/cuda/cubins.py. A target's own row, where it has
# one, is instead of its vendor's.
COMMON = ["-DHK_LARGE=0", "-DHK_GROUP_ROWS=64", "-DHK_TILE_ROWS=6", "-DHK_PROCESSOR=0"]
OPENCL = COMMON + ["-DHK_GROUP_SUMS=32"]
XE_HP = "-cl-intel-256-GRF-per-thread"
DEVICE_OPTIONS = {
    "amd": OPENCL + ["-DHK_LEAST_LANES=0"],
    "intel": COMMON + ["-DHK_GROUP_SUMS=16", "-DHK_LEAST_LANES=8"],
    "dg2": OPENCL + ["-DHK_LEAST_LANES=8", XE_HP],
    "pvc": OPENCL + ["-DHK_LEAST_LANES=16", XE_HP],
    "nvidia": [word for word in cubins.OPTIONS if word.startswith("-D")] + ["-DHK_LARGE=0"],
}
# target: (vendor, what is special about it); mma: its matrix unit
TARGETS = {
    "gfx90a": ("amd", {"isa": "90a", "wave": 64, "mma": 2}),
    "gfx942": ("amd", {"isa": "940", "wave": 64, "mma": 2}),      # the bitcode nearest to it
    "gfx1030": ("amd", {"isa": "1030", "wave": 32}),
    "gfx1100": ("amd", {"isa": "1036", "wave": 32, "mma": 3}),    # the bitcode nearest to it
    "gfx1201": ("amd", {"isa": "1036", "wave": 32, "mma": 4}),    # the bitcode nearest to it
    "sm_80": ("nvidia", {"machine": 80, "mma": 1}),
    "sm_90": ("nvidia", {"machine": 90, "mma": 1}),
    "sm_100": ("nvidia", {"machine": 100, "mma": 1}),
    "dg2": ("intel", {"grf": 32, "mma": 5}),              # bytes of a register
    "pvc": ("intel", {"grf": 64, "mma": 6}),
    "tgllp": ("intel", {"grf": 32, "slots": 7}),
}
BITCODE = ["/usr/lib/x86_64-linux-gnu/amdgcn/bitcode", "/usr/lib/amdgcn/bitcode",
           "/opt/rocm/amdgcn/bitcode"]


class Missing(Exception):
    """A compiler that is not here."""


class Failed(Exception):
    """A compiler that refuses."""


def run(words, **more):
    """(what it says on both streams, its own seconds of user time, seconds that passed)."""
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+") as said:
        with subprocess.Popen([str(word) for word in words], stdout=said, stderr=subprocess.STDOUT,
                              text=True, **more) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read()
    if process.returncode:
        raise Failed(f"{words[0]}: {text.strip()[-2000:] or process.returncode}")
    return text, used.ru_utime, time.monotonic() - begin


def output(words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False, **more)
    if done.returncode:
        raise Failed(f"{words[0]}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def homes():
    """Folders where scripts/setup --gpu-compilers puts what is not installed into the system."""
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    given = os.environ.get("HEED_GPU_COMPILERS")
    if given:
        return [pathlib.Path(home) for home in given.split(":")]
    return [pathlib.Path(cache) / "heed/gpu-compilers"]


def program(what, *names):
    for name in names:
        found = shutil.which(name)
        if found:
            return found
        for home in homes():
            for path in (home / name, home / "usr/bin" / name, *home.glob(f"**/bin/{name}")):
                if path.is_file():
                    return str(path)
    raise Missing(f"no {names[0]} ({what})")


def rows(kernels):
    """(name, file, options) of kernels.def that GPUs can be given."""
    for name, file, options, shape in sources.rows(kernels):
        if shape not in ("lanes", "opencl", "halves"):
            yield name, file, options.split()


def given(target, options):
    """Is the target given a row of these options? As heed_group_width of backends/device."""
    own = DEVICE_OPTIONS.get(target, DEVICE_OPTIONS[TARGETS[target][0]])
    sums = next(int(word.split("=")[1]) for word in own if word.startswith("-DHK_GROUP_SUMS="))
    return "-DHK_WIDTH=128" not in options or sums >= 32


class Amd:
    def __init__(self):
        self.clang = program("AMD: Debian clang-19", *(f"clang-{n}" for n in range(22, 17, -1)))
        version = self.clang.rsplit("-", 1)[1]
        self.objdump = program("AMD: Debian llvm-19", f"llvm-objdump-{version}")
        self.symbolizer = program("AMD: Debian llvm-19", f"llvm-symbolizer-{version}")
        self.bitcode = next((pathlib.Path(p) for p in BITCODE if pathlib.Path(p).is_dir()), None)
        if not self.bitcode:
            raise Missing("no device libraries (AMD: Debian rocm-device-libs)")
        self.version = output([self.clang, "--version"]).splitlines()[0]

    def words(self, target, special):
        waves = "on" if special["wave"] == 64 else "off"
        names = ["opencl", "ocml", "ockl", "oclc_correctly_rounded_sqrt_on", "oclc_daz_opt_off",
                 "oclc_finite_only_off", "oclc_unsafe_math_off", f"oclc_wavefrontsize64_{waves}",
                 f"oclc_isa_version_{special['isa']}", "oclc_abi_version_500"]
        words = [self.clang, "-x", "cl", "-cl-std=CL1.2", "-target", "amdgcn-amd-amdhsa",
                 f"-mcpu={target}", "-O3", "-gline-tables-only", "-nogpulib"]
        for name in names:
            words += ["-Xclang", "-mlink-builtin-bitcode", "-Xclang",
                      str(self.bitcode / f"{name}.bc")]
        return words

    def compile(self, target, special, source, options, folder):
        listing, machine = folder / "kernel.s", folder / "kernel.o"
        _, user, wall = run(self.words(target, special) + options +
                            ["-S", "-o", listing, source])
        text = listing.read_text(encoding="utf-8")
        found = amd.numbers(text)
        functions = amd.parse(text, found["wave"] or special["wave"])
        output([self.clang, "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-c", listing,
                "-o", machine])
        places = amd.addresses(output([self.objdump, "-d", machine]))
        wanted, ones = [], []
        for name, items in functions.items():
            code = [one for one in items if not isinstance(one, str)]
            found_places = amd.align(code, places.get(name, []))
            if found_places is None:
                raise Failed(f"{name}: assembly and machine code differ")
            wanted += found_places
            ones += code
        for one, frames in zip(ones, self.frames(machine, wanted)):
            one.frames = frames
        return found, functions, user, wall

    def frames(self, machine, wanted):
        return symbolize(self.symbolizer, machine, wanted)


def symbolize(symbolizer, machine, wanted):
    """The lines that each address comes from, innermost first."""
    said = output([symbolizer, "--functions=none", f"--obj={machine}"],
                  input="".join(f"{place:#x}\n" for place in wanted))
    for group in said.split("\n\n")[:len(wanted)]:
        frames = []
        for line in group.splitlines():
            match = re.match(r"(.*):(\d+):\d+$", line)
            if match:
                frames.append((match[1], int(match[2])))
        yield tuple(frames)


class Nvidia:
    def __init__(self):
        self.nvcc = program("NVIDIA: the CUDA toolkit", "nvcc")
        self.nvdisasm = program("NVIDIA: PyPI nvidia-cuda-nvdisasm", "nvdisasm")
        self.version = output([self.nvcc, "--version"]).strip().splitlines()[-2]

    def compile(self, target, special, source, options, folder):
        cubin = folder / "kernel.cubin"
        words = [self.nvcc, *(word for word in cubins.OPTIONS if word[:2] != "-D"), *options,
                 "-gencode",
                 f"arch=compute_{cubins.PORTABLE},code={target}", "-cubin", "-lineinfo", "-Xptxas",
                 "-v", "-o", cubin, source]
        said, user, wall = run(words)
        text = output([self.nvdisasm, "-c", "-gi", cubin])
        functions = nvidia.parse(text)
        places = [int(n, 16) for n in re.findall(r"^\s+/\*([0-9a-f]{4,})\*/", text, re.M)]
        found = nvidia.numbers(said, special["machine"], special["threads"],
                               max(places, default=0) + 16)
        return found, functions, user, wall


class Intel:
    def __init__(self):
        self.ocloc = program("Intel: ocloc of Debian's intel-opencl-icd", "ocloc")
        self.symbolizer = program("Intel: llvm-symbolizer of Debian llvm-19",
                                  *(f"llvm-symbolizer-{n}" for n in range(22, 14, -1)))
        home = pathlib.Path(self.ocloc).parent.parent
        libraries = [str(path.parent) for path in home.glob("lib/**/libocloc.so*")]
        self.environment = dict(os.environ, LD_LIBRARY_PATH=":".join(
            libraries + [os.environ.get("LD_LIBRARY_PATH", "")]))
        log = next(home.glob("share/doc/intel-opencl-icd/changelog.Debian.gz"), None)
        self.version = gzip.open(log, "rt", encoding="utf-8").readline().strip() if log \
            else self.ocloc

    def compile(self, target, special, source, options, folder):
        dump = folder / "dump"
        words = [self.ocloc, "compile", "-file", source, "-device", target, "--format", "zebin",
                 "-output", "kernel", "-out_dir", folder, "-options",
                 " ".join(["-I", str(source.parent), "-cl-std=CL1.2", "-gline-tables-only",
                           *options])]
        _, user, wall = run(words, env=dict(self.environment, IGC_ShaderDumpEnable="1",
                                            IGC_DumpToCustomDir=str(dump)))
        made = next(iter(folder.glob("kernel*.bin")), None)
        if not made:
            raise Failed("ocloc: no binary")
        binary = made.read_bytes()
        codes = [path for path in dump.glob("*.dat") if path.read_bytes() in binary]
        if len(codes) != 1:
            raise Failed("ocloc: no assembly that is the binary's")
        assembly = codes[0].with_suffix(".asm").read_text(encoding="utf-8", errors="replace")
        start = binary.find(b"version:  ")
        notes = binary[start:].decode("utf-8", errors="replace")
        found = intel.numbers(notes, assembly, codes[0].stat().st_size,
                              special.get("slots", 8))
        functions, places = intel.parse(assembly, found["wave"], special["grf"])
        chains = symbolize(self.symbolizer, codes[0].with_suffix(".elf"), places)
        ones = [one for items in functions.values() for one in items if not isinstance(one, str)]
        for one, frames in zip(ones, chains):   # what they say of the innermost line is not true
            one.frames = one.frames + frames[1:]
        return found, functions, user, wall


VENDORS = {"amd": Amd, "nvidia": Nvidia, "intel": Intel}


def measure(vendor, compiler, target, row, kernels, more=(), keep=None):
    """All numbers of a row for a target, and the Steady that knows why. more: other options."""
    name, file, options = row
    unit = TARGETS[target][1].get("mma", 0)     # HK_MMA: kernels/dialect/dialect_mma.h
    options = [*DEVICE_OPTIONS.get(target, DEVICE_OPTIONS[vendor]), f"-DHK_MMA={unit}", *options,
               *more]
    texts = marks.Texts(kernels, file, [word for word in options if word.startswith("-D")])
    special = dict(TARGETS[target][1], threads=texts.number("HK_THREADS") or 256)
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        found, functions, user, wall = compiler.compile(
            target, special, kernels / file, options, folder)
        if keep:
            shutil.copytree(folder, keep / f"{name}-{target}", dirs_exist_ok=True)
    steady = Steady(vendor, functions, texts)
    found.update(row=name, target=target, vendor=vendor, user=round(user, 2), wall=round(wall, 2),
                 **steady.results())
    if "flight" in found:
        items = found["occupancy"] * devices.SCHEDULERS[target] * found["wave"]
        groups = max(items // found["threads"], 1)
        found["in_flight"] = found["flight"] * found["threads"] * groups
    if found.get("bytes"):
        found["slots"] = found["vector"] / (found["bytes"] * found["wave"])
    return found, steady
