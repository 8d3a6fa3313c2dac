#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The OpenCL kernels on Oclgrind, which checks every access: oclgrind.py HEED_CONFORM

A few small cases on both forms of kernels, those of attention also with the barriers that GPUs have,
bit for bit against the reference, with nothing to be found in Oclgrind's log: no access outside a
buffer, no data race. (No two rows of a copy have one
destination here: of such rows memory.h does not say which one stays, and Oclgrind rightly reports
them.) Without the compiler's optimizer, restrict and forced inlining, of which calls are made that
Oclgrind 21.10 does not know. The first case of each form tests the device, the others find how that ended in
a folder of this test's own. Exit status 77: there is no Oclgrind.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

PLACES = ["/usr/lib/oclgrind/liboclgrind-rt-icd.so", "/usr/local/lib/oclgrind/liboclgrind-rt-icd.so",
          "/usr/lib64/oclgrind/liboclgrind-rt-icd.so"]
CASES = [
    "op=attn batch=1 h=2 nq=7 d=9 dv=7 s0.nk=20 seed=1",
    "op=attn batch=1 h=2 nq=7 d=8 dv=17 lse=plain sink=normal s0.nk=70 s0.causal=yes s0.mask=1 "
    "seed=2",
    "op=attn batch=1 h=2 nq=5 d=8 dv=8 s0.k=f16 s0.v=f16 s0.hk=half s0.nk=40 s0.nt=2 s0.t0.kind=window s0.t0.left=3 "
    "s0.t0.right=2 s0.t1.kind=global s0.t1.gf=both s0.t1.slot=rt seed=3",
    "op=attn batch=2 h=1 nq=6 d=9 dv=7 s0.nk=40 s0.lay=paged s0.page=16 s0.idx=hostile s0.len=rt "
    "s0.mask=1 s0.nt=2 s0.t0.kind=window s0.t0.left=16 s0.t1.kind=all s0.t1.step=3 seed=9",
    "op=attn batch=2 h=1 nq=6 d=8 dv=16 s0.nk=70 s0.lay=ring s0.idx=rt s0.len=rt s0.causal=yes seed=10",
    "op=copy d=16 how=ring dst=at zero=yes from=hostile seed=4",
    "op=copy how=paged d=7 x.t=f16 y.t=f32 dst=at seed=5",
    "op=copy how=paged dst=at table=apart from=good d=8 pages=30 tab=4 seed=5",
    "op=push d=7 cap=9 new=20 rows.t=f16 len=zero out=yes out_len=yes seed=6",
    "op=push d=8 cap=4 new=9 mis=1 out=yes out_len=yes head=hostile seed=7",
    "op=merge p=9 dv=33 parts.t=bf16 o.t=f16 sinks=normal lse=plain parts_lse=some seed=8",
    "op=state p=3 dv=33 o.t=f16 sinks=normal lse=sink states=some seed=18",
    "op=pool batch=1 h=1 kind=mean n=9 d=8 kernel=3 stride=2 mask=some seed=11",
    "op=pool batch=1 h=1 kind=dynamic n=8 d=7 kernel=2 stride=2 x.t=f16 y_mask=yes len=rt seed=12",
    "op=pool batch=1 h=1 kind=bucket buckets=4 n=9 d=8 ids=hostile y_len=yes seed=13",
    "op=pool batch=2 h=1 kind=max tok=ranges ranges=hostile rows=5 n=20 d=7 seed=14",
    "op=select batch=1 h=1 kind=topk n=20 d=8 nq=5 count=3 group=2 mask=some seed=15",
    "op=select batch=1 h=1 kind=hash n=20 d=8 r=2 m=4 seed=16",
    "op=select batch=1 h=2 kind=norm n=20 d=8 block=3 len=rt mask=some seed=17",
    "op=linear batch=1 h=1 n=3 in=130 out=9 bias=there w.t=f16 seed=19",
    "op=linear batch=1 h=1 n=20 in=70 out=33 act=gelu x.t=bf16 seed=20",
    "op=linear batch=1 h=1 n=9 in=32 out=20 w.t=q8_0 seed=21",
    "op=recur batch=1 h=1 n=20 dk=12 dv=5 beta=there delta=yes seed=22",
    "op=recur batch=1 h=1 n=20 dk=40 dv=5 dec=channel len=rt seed=23",
    "op=order batch=1 h=1 n=40 count=9 ids=hostile seed=24",
    "op=norm batch=1 h=1 n=4 d=130 weight=there bias=there residual=there seed=25",
    "op=rope batch=1 h=1 n=4 d=16 kind=adjacent pos=hostile seed=26",
    "op=act batch=1 h=1 n=4 d=33 kind=gelu seed=27",
    "op=gate batch=1 h=1 n=4 d=33 seed=28",
    "op=embed batch=1 h=1 n=9 d=33 ids=hostile seed=29",
]
# Two chunks: their parts are joined by another kernel. The last one cuts the strip of a row that sees
# all keys.
SPLIT = [
    "op=attn batch=1 h=2 nq=1 d=8 dv=8 s0.nk=1100 seed=31",
    "op=attn batch=1 h=2 nq=1 d=8 dv=8 s0.k=f16 s0.v=f16 s0.nk=1100 seed=32",
    "op=attn batch=2 h=2 nq=1 d=32 dv=32 s0.hk=1 s0.lay=paged s0.page=64 s0.len=rt s0.k=q8_0 s0.v=q8_0 "
    "s0.nk=1030 seed=33",
    "op=attn batch=1 h=1 nq=130 d=8 dv=8 align=start s0.nk=1030 s0.nt=2 s0.t0.kind=window s0.t0.left=3 "
    "s0.t1.kind=global s0.t1.gf=both s0.t1.block=1 seed=35",
]
ATTENTION = [case for case in CASES if case.startswith("op=attn ")]
# The form, options of the build, cases. HK_FLAT=0: with the barriers of GPUs alone (attn/walk.h);
# HK_LOAD_ANYWAY=1: with the loads of Intel's (attn/few_units.h).
PASSES = [("lanes", "", CASES), ("workgroup", "", CASES),
          ("workgroup", " -DHK_FLAT=0 -DHK_LOAD_ANYWAY=1", ATTENTION + SPLIT)]


def main():
    conform = sys.argv[1]
    library = next((place for place in PLACES if os.path.exists(place)), None)
    if library is None:
        print("there is no Oclgrind")
        return 77
    bad = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "oclgrind.icd").write_text(library + "\n", encoding="utf-8")
        log = folder / "log"
        environment = dict(os.environ, OCL_ICD_VENDORS=name, OCLGRIND_LOG=str(log),
                           OCLGRIND_DATA_RACES="1")
        for number, (form, options, cases) in enumerate(PASSES):
            environment["HEED_CACHE_DIR"] = str(folder / f"cache{number}")
            environment["OCLGRIND_BUILD_OPTIONS"] = "-cl-opt-disable -DHK_CALLS" + options
            for case in cases:
                result = subprocess.run([conform, "--device", "opencl:0:" + form, "--family",
                                         "bits", "--case", case], env=environment, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
                report = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
                good = result.returncode == 0 and not report.strip()
                bad += not good
                print(f"{form}{options}: {case}: {'right' if good else 'FAILED'}", flush=True)
                if not good:
                    print(result.stdout[-2000:], report[:2000], sep="\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
