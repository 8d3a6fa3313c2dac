# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
#
# The command lines of heed-info and heed-bench: exit codes, one line for what is wrong, and the
# members of their JSON. Looks at no measured speed.

import json
import math
import subprocess
import sys

info, bench = sys.argv[1:3]
failures = []


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=240)


def expect(condition, what):
    if not condition:
        failures.append(what)


def info_describes_every_device():
    table, text = run(info), run(info, '--json')
    expect(table.returncode == 0 and text.returncode == 0, 'heed-info exits with 0')
    found = json.loads(text.stdout)
    expect(found['numerics'] >= 1 and found['version'].count('.') == 2, 'version and numerics')
    kernels = [line for line in table.stdout.splitlines() if line.startswith('kernels: ')]
    expect(len(kernels) == 1 and kernels[0] in found['build'], 'how the kernels were built')
    names = [device['name'] for device in found['devices']]
    expect(found['default'] in names, 'the default device is a device')
    expect('reference' in names, 'the reference is a device')
    for device in found['devices']:
        expect(device['name'] in table.stdout, 'the table has ' + device['name'])
        expect((device['usable'] and device['exact']) == (device['reason'] == ''),
               'a reason just for what is refused or not exact: ' + device['name'])
        expect(device['kind'] in found['backends'], 'the backend of ' + device['name'])
    kinds = {device['kind'] for device in found['devices']}
    for absent in found['absent']:
        expect(absent['kind'] not in kinds and absent['reason'] in table.stdout,
               'why there is no ' + absent['kind'])
    expect({'opencl', 'cuda'} <= kinds | {absent['kind'] for absent in found['absent']},
           'every kind of device is there or said to be absent')
    expect(run(info, '--bogus').returncode == 2, 'heed-info refuses what it does not know')
    return [device['name'] for device in found['devices'] if device['usable']]


def wrong_arguments_are_one_line():
    for arguments in (['--workload', 'foo'], ['--workload', 'dense:q=1'], ['--workload'],
                      ['--workload', 'dense:w=3'], ['--pairs', '14'], ['--pairs', 'x'],
                      ['--threads', '0'], ['--device', 'nosuch'], ['--bogus'], ['--json=1'],
                      ['--isa', 'avx2', '--device', 'reference'], ['--clock', 'sun'],
                      ['--peer', 'true'], ['--vs', 'nosuch', '--workload', 'dense:n=16']):
        r = run(bench, *arguments)
        expect(r.returncode == 2, '%s exits with %d' % (arguments, r.returncode))
        expect(r.stderr.count('\n') == 1, '%s says one line: %s' % (arguments, r.stderr))
        expect(r.stdout == '', '%s prints nothing' % arguments)


def results_are_complete(devices):
    keys = {'workload', 'device', 'isa', 'threads', 'useful_gflops', 'peak_gflops', 'share',
            'extra_bytes', 'median_s', 'min_s', 'max_s'}
    loads = ['window:n=64,w=9', 'dense:n=48,h=4,hk=2,d=20', 'causal:n=40,dtype=bf16,b=2']
    for i, device in enumerate(devices):
        mine = loads if i == 0 else loads[i % 3:][:1]
        options = [option for load in mine for option in ('--workload', load)]
        r = run(bench, '--device', device, '--json', *options)
        expect(r.returncode == 0, '%s: %s' % (device, r.stderr))
        lines = [json.loads(line) for line in r.stdout.splitlines()]
        expect([line['workload'] for line in lines] == [load.split(':')[0] for load in mine],
               device + ': one object a workload, in order')
        for line in lines:
            expect(keys <= set(line), '%s lacks %s' % (device, keys - set(line)))
            expect(line['device'] == device and line['threads'] == 1, device + ': as asked')
            if device.split(':')[0] in ('cpu', 'reference'):
                expect(line['isa'] != 'unknown' and line['peak_gflops'] > 0, device + ': has a peak')
            expect(line['min_s'] <= line['median_s'] <= line['max_s'], device + ': ordered times')
            rate = line['useful_gflops'] * line['median_s'] * 1e9
            pairs = {'dense': 48 * 48, 'causal': 40 * 41 // 2, 'window': 64 * 19 - 9 * 10}
            work = 4 * line['d'] * line['h'] * line['b'] * pairs[line['workload']]
            expect(math.isclose(rate, work, rel_tol=1e-4), device + ': rate is work over time')


def comparisons_have_a_ratio():
    load = ['--workload', 'dense:n=32', '--json']
    r = run(bench, '--vs', 'reference', *load)
    line = json.loads(r.stdout)
    expect(line['vs'] == 'reference', 'the second device is named')
    expect(line['ratio_min'] <= line['ratio'] <= line['ratio_max'], 'ordered ratios')
    peer = 'while read -r x; do echo 1e6 1e6; done'
    r = run(bench, '--peer', peer, *load)
    line = json.loads(r.stdout)
    expect(math.isclose(line['vs_median_s'], 1e6), 'the time of the peer is what it says')
    expect(line['ratio'] > 1000, 'a slow peer has a large ratio')
    for broken in ('true', 'echo nonsense; cat', 'exit 3'):
        r = run(bench, '--peer', broken, *load)
        expect(r.returncode == 1 and r.stderr.count('\n') == 1, 'a broken peer: ' + broken)


usable = info_describes_every_device()
wrong_arguments_are_one_line()
results_are_complete(usable)
comparisons_have_a_ratio()
for failure in failures:
    print('failed: ' + failure)
sys.exit(1 if failures else 0)
