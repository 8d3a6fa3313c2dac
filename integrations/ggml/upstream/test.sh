#!/usr/bin/env bash
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
#
# The patch for llama.cpp on a copy of its tree: test.sh TREE HOST WORK
# TREE: of llama.cpp; HOST: its build folder, whose settings are taken; WORK: where to build.
# Its test must fail without the change, and pass with it.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" >/dev/null && pwd)
tree=$1 host=$2 work=$3
patch=$here/0001-accel-devices-keep-fused-ops.patch
native=$(sed -n 's/^GGML_NATIVE:BOOL=//p' "$host/CMakeCache.txt")

if ! [ -d "$work/tree" ]; then
    mkdir -p "$work"
    cp -r "$tree" "$work/tree.new"
    patch -s -d "$work/tree.new" -p1 <"$patch"
    mv "$work/tree.new" "$work/tree"
fi
launchers=()
if command -v ccache >/dev/null 2>&1; then
    launchers=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
cmake -S "$work/tree" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON \
    -DGGML_BACKEND_DL=ON -DGGML_NATIVE="$native" -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=ON \
    -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_SERVER=OFF "${launchers[@]}" \
    >"$work/log" 2>&1

# built FILE: the test, with FILE as src/llama-context.cpp
run()
{
    ninja -C "$work/build" -j"$(nproc)" ggml-cpu test-fused-ops-accel >>"$work/log" 2>&1
    "$work/build/bin/test-fused-ops-accel" 2>>"$work/log"
}

changed=$work/tree/src/llama-context.cpp
cp "$changed" "$work/changed.cpp"
cp "$tree/src/llama-context.cpp" "$changed"
status=0
run >"$work/without" || status=$?
cp "$work/changed.cpp" "$changed"
if [ "$status" = 0 ] || ! grep -q 'auto: 0 ops' "$work/without"; then
    echo "upstream: the test passes, or breaks, without the change" >&2
    exit 1
fi
run
echo "upstream: the patch does what it says"
