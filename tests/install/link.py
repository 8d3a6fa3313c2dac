#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Programs are compiled against an installed heed and run: link.py TOP BUILD

By pkg-config: with the shared library, with the static one, and wholly static by gcc and clang,
where every device is named and no driver is opened. examples/summarize outside the tree. From
every header by name, as C++ does it. The easy call, by its name in the library.
"""

import ctypes
import pathlib
import shutil
import sys
import tempfile

from stage import CC, expect, flags, installed, library_folder, pc_folder, run

TEXT = ("The library reads long documents. Attention finds what belongs together. "
        "A window keeps the work small. The summary keeps the sentences that matter. "
        "Every device gives the same bits. The tests compare them one by one.\n") * 8
STRICT = ["-std=c17", "-Wall", "-Wextra", "-Werror"]
DEVICES = """#include <heed/attn.h>
#include <stdio.h>
int main(void)
{
    static const char *const names[] = { "cpu", "opencl:0", "cuda:0" };
    heed_report why = { .size = sizeof why };
    heed_runtime *runtime = NULL;
    heed_device *device = NULL;

    if (heed_runtime_create(NULL, &runtime, &why) < 0)
        return 1;
    for (int i = 0; i < 3; i++) {
        const heed_status status = heed_device_find(runtime, names[i], &device, &why);
        printf("%s %s\\n", names[i], status < 0 ? why.message : "found");
    }
    heed_runtime_destroy(runtime);
    return 0;
}
"""


MODEL = """
#include <heed/model.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    heed_runtime *runtime;
    heed_report why = { .size = sizeof why };
    heed_device *device;
    heed_queue *queue;
    heed_model *model;

    if (argc != 2 || heed_runtime_create(NULL, &runtime, NULL) < 0 ||
        heed_device_find(runtime, "cpu", &device, NULL) < 0 ||
        heed_queue_create(device, 0, &queue, NULL) < 0)
        return 1;
    printf("%s %s\\n", heed_status_name(heed_model_open(queue, argv[1], NULL, &model, &why)),
           why.field);
    heed_queue_destroy(queue);
    heed_runtime_destroy(runtime);
    return 0;
}
"""


def check_files(prefix):
    names = {path.name for path in prefix.rglob("*")}
    for name in ("attn.h", "cuda.h", "heed.h", "opencl.h", "plugin.h", "heed.pc", "libheed.a",
                 "libheed.so", "libheed.so.0", "heed-config.cmake", "heed.7", "LICENSE",
                 "README.md", "guide.txt", "plugin.c", "minimal.c"):
        expect(name in names, f"not installed: {name}; there are {sorted(names)}")
    extra = [name for name in names if name.startswith("lib")
             and not name.startswith(("libheed.", "libheed-mpi.", "libheed-model."))
             and name not in ("lib", "libexec")]
    expect(not extra, f"installed but private: {extra}")


def check_minimal(top, prefix, folder):
    source = top / "examples/minimal.c"
    run(*CC, *STRICT, source, "-o", folder / "shared", *flags(prefix, "--cflags", "--libs"))
    expect("libheed.so.0" in run("readelf", "-d", folder / "shared"),
           "the shared example does not need libheed.so.0")
    wanted = run(folder / "shared", env={"LD_LIBRARY_PATH": str(library_folder(prefix))})

    # The archive by its file, as one does who has both.
    archive = library_folder(prefix) / "libheed.a"
    libs = ["-l" + word[2:] if word.startswith("-l") else word
            for word in flags(prefix, "--static", "--cflags", "--libs") if word != "-lheed"]
    run(*CC, *STRICT, source, archive, "-o", folder / "static", *libs)
    expect("libheed" not in run("readelf", "-d", folder / "static"),
           "the static example needs a shared heed")
    expect(run(folder / "static") == wanted, "static and shared print different rows")
    return wanted


def can_link_static(compiler, folder):
    program = folder / "can.c"
    program.write_text("int main(void) { return 0; }\n", encoding="utf-8")
    if not shutil.which(compiler):
        return False
    command = f"{compiler} -static {program} -o {folder / 'can'} -lgomp -lm 2>/dev/null"
    return run("sh", "-c", f"if {command}; then echo yes; fi") == "yes\n"


def check_wholly_static(top, prefix, folder, wanted):
    """No driver can be opened there, and no driver is: it would crash."""
    options = flags(prefix, "--static", "--cflags", "--libs")
    devices = folder / "devices.c"
    devices.write_text(DEVICES, encoding="utf-8")
    tried = []
    for compiler in ("gcc", "clang"):
        if not can_link_static(compiler, folder):
            print(f"left out: {compiler} links no static program here")
            continue
        tried.append(compiler)
        run(compiler, "-static", top / "examples/minimal.c", "-o", folder / "whole", *options)
        expect("NEEDED" not in run("readelf", "-d", folder / "whole"), "it needs shared libraries")
        expect(run(folder / "whole") == wanted, "the static program prints another row")
        run(compiler, "-static", "-std=c17", devices, "-o", folder / "devices", *options)
        lines = run(folder / "devices").splitlines()
        expect(lines[0] == "cpu found" and len(lines) == 3, f"{compiler}: {lines}")
        for line in lines[1:]:
            expect("linked statically" in line or "compiled in" in line, f"{compiler}: {line}")
    return tried


def check_summarize(top, prefix, folder):
    copy = folder / "summarize"
    shutil.copytree(top / "examples/summarize", copy)
    run(*CC, "-std=c17", "-O1", *sorted(copy.glob("*.c")), "-o", copy / "heed-summarize",
        *flags(prefix, "--cflags", "--libs"), "-lm")
    words = run(copy / "heed-summarize", "--words", "20", "-", input=TEXT,
                env={"LD_LIBRARY_PATH": str(library_folder(prefix))}).split()
    expect(words, "heed-summarize printed nothing")
    print(" ".join(words))


def check_cxx(prefix, folder):
    """Every header but those over a vendor's, alone and all together, by a compiler of C++."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        print("left out: no compiler of C++")
        return
    names = sorted(path.name for path in (prefix / "include/heed").glob("*.h"))
    names = [name for name in names if name not in ("cuda.h", "mpi.h", "opencl.h")]
    text = "".join(f"#include <heed/{name}>\n" for name in names)
    source = folder / "all.cc"
    source.write_text(text + "int main() { return heed_version() == 0; }\n", encoding="utf-8")
    run(compiler, "-std=c++11", "-Wall", "-Wextra", "-Werror", source, "-o", folder / "cxx",
        *flags(prefix, "--cflags", "--libs"))
    run(folder / "cxx", env={"LD_LIBRARY_PATH": str(library_folder(prefix))})


def check_uninstalled(top, build, folder, wanted):
    """The build folder itself has a heed.pc, too."""
    own = {"PKG_CONFIG_PATH": str(build / "meson-uninstalled")}
    options = run("pkg-config", "--cflags", "--libs", "heed", env=own).split()
    for option in options:
        expect(option[:2] not in ("-I", "-L") or pathlib.Path(option[2:]).is_dir(),
               f"heed-uninstalled.pc names a folder that is not there: {option}")
    run(*CC, *STRICT, top / "examples/minimal.c", "-o", folder / "uninstalled", *options)
    expect(run(folder / "uninstalled", env={"LD_LIBRARY_PATH": str(build)}) == wanted,
           "the program of the build folder prints another row")


def check_model(prefix, folder):
    """A program over heed/model.h, where libheed-model is installed."""
    if not (pc_folder(prefix) / "heed-model.pc").is_file():
        print("left out: there is no libheed-model")
        return
    source = folder / "model.c"
    source.write_text(MODEL, encoding="utf-8")
    run(*CC, *STRICT, source, "-o", folder / "model",
        *flags(prefix, "--cflags", "--libs", package="heed-model"))
    said = run(folder / "model", folder, env={"LD_LIBRARY_PATH": str(library_folder(prefix))})
    expect(said == "HEED_E_NOT_FOUND config.json\n", f"heed-model.pc: {said}")


def check_names(prefix):
    library = ctypes.CDLL(str(library_folder(prefix) / "libheed.so.0"))
    for operation in ("attn", "copy", "merge", "pool", "push", "select"):
        expect(hasattr(library, f"heed_{operation}_simple"), f"no easy call of {operation}")
    # Without a queue it answers, and does not crash: HEED_E_NULL.
    zeros = [None, None, None, None, None, None, 0, 0, None]
    expect(library.heed_attn_simple(*zeros) == -1, "the easy call does not answer HEED_E_NULL")


def main():
    top, build = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    prefix = installed(build)
    check_files(prefix)
    check_names(prefix)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        wanted = check_minimal(top, prefix, folder)
        tried = check_wholly_static(top, prefix, folder, wanted)
        check_summarize(top, prefix, folder)
        check_model(prefix, folder)
        check_cxx(prefix, folder)
        check_uninstalled(top, build, folder, wanted)
    print(f"shared, static, and wholly static by {tried}: {wanted.strip()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
