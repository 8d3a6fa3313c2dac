# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
#
# The command lines of heed-info and heed-bench: exit codes, one line for what is wrong, and the
# members of their JSON. Looks at no measured speed.

import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

info, bench = sys.argv[1:3]
loader = sys.argv[3] if len(sys.argv) > 3 else None
failures = []
ALL = os.environ.get('HEED_TESTS') == 'all'    # else a part of what is the same again


def run(*command, environment=None):
    return subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment)


def expect(condition, what):
    if not condition:
        failures.append(what)


def listing_opens_nothing(tested):
    """Without a cache nothing is known of a device that is not opened; with one, what --test found.
    """
    with tempfile.TemporaryDirectory() as folder:
        for cache, known in (('', False), (folder, False), (folder, True)):
            env = dict(os.environ, HEED_CACHE_DIR=cache)
            if known:
                run(info, '--test', environment=env)
            else:
                expect('compiles' not in run(info, environment=env).stderr, 'listing compiles nothing')
            listed = json.loads(run(info, '--json', environment=env).stdout)['devices']
            expect([d['name'] for d in listed] == [d['name'] for d in tested], 'the same devices')
            for device, other in zip(listed, tested):
                host = device['kind'] not in ('opencl', 'cuda')
                if host or (known and device['kind'] == 'opencl'):
                    expect(device == other, f'{device} is {other}')
                elif device['kind'] == 'opencl':
                    expect(not device['tested'] or not device['usable'], f'{device} is not tested')
        one = json.loads(run(info, '--device', tested[-1]['name'], '--json').stdout)['devices']
        expect(one == tested[-1:], '--device describes one')
        expect(run(info, '--device', 'nosuch').returncode == 2, 'there is no such device')


def info_describes_every_device():
    table, text = run(info, '--test'), run(info, '--test', '--json')
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
        expect(device['tested'], device['name'] + ' is tested')
        expect((device['usable'] and device['exact']) == (device['reason'] == ''),
               'a reason just for what is refused or not exact: ' + device['name'])
        expect(device['kind'] in found['backends'], 'the backend of ' + device['name'])
    kinds = {device['kind'] for device in found['devices']}
    for absent in found['absent']:
        expect(absent['kind'] not in kinds and absent['reason'] in table.stdout,
               'why there is no ' + absent['kind'])
    expect({'opencl', 'cuda'} <= kinds | {absent['kind'] for absent in found['absent']},
           'every kind of device is there or said to be absent')
    listing_opens_nothing(found['devices'])
    wide = run(info, '--json', environment=dict(os.environ, OMP_NUM_THREADS='999999'))
    expect(all(device['width'] <= max(64, os.cpu_count()) for device in
               json.loads(wide.stdout)['devices'] if device['kind'] == 'cpu'),
           'as many workers as OMP_NUM_THREADS says')
    for wrong in (['--bogus'], ['--wait'], ['--wait', '0'], ['--wait', 'x']):
        expect(run(info, *wrong).returncode == 2, 'heed-info refuses ' + ' '.join(wrong))
    return [device['name'] for device in found['devices'] if device['usable']]


def table_is_whole(flag, kind, names, usable):
    """The cells of heed-info's table: all that there are, the same as text and as JSON."""
    table, text = run(info, flag), run(info, flag, '--json')
    expect(table.returncode == 0 and text.returncode == 0, 'heed-info %s exits with 0' % flag)
    cells = json.loads(text.stdout)['support']
    keys = [(c[kind], c['device'], c['dtype'], c['numerics']) for c in cells]
    expect(len(set(keys)) == len(keys), 'every cell once')
    axes = [set(axis) for axis in zip(*keys)]
    expect(len(keys) == math.prod(len(axis) for axis in axes), 'no hole in the table')
    expect(axes[0] == names and set(usable) <= axes[1], 'every %s and usable device' % kind)
    expect(axes[2] == {'f32', 'f16', 'bf16'}, 'the types')
    expect(axes[3] == {'exact', 'repeat', 'fast', 'best'}, 'the promises')
    lines = table.stdout.splitlines()
    for c in cells:
        expect(c['supported'] == (c['reason'] == '') == (c['status'] == 'HEED_OK'),
               'a reason just for what is refused: %s' % c)
        expect(c['reason'] in table.stdout, 'the table has the reason: %s' % c)
    rows = [line for line in lines if line.split()[:1] and line.split()[0] in names]
    expect(len(rows) == len(names) * len(axes[1]) * 3,
           'a row for each %s, device and type' % kind)
    starts = [lines[0].index(name) for name in ('device', 'dtype', 'exact', 'repeat', 'fast')]
    expect(all(row[start] != ' ' and row[start - 1] == ' ' for row in rows for start in starts),
           'columns align')
    expect(all(c['supported'] for c in cells if c['device'] == 'reference'),
           'the reference offers everything')


def operations_of_the_library():
    """Those that the library exports a plan and a run of; a program is several of them."""
    names = (pathlib.Path(__file__).resolve().parents[2] / 'lib/heed.map').read_text()
    plans, runs = (set(re.findall(r'heed_(\w+)_%s;' % call, names)) for call in ('plan', 'run'))
    return plans & runs - {'program'}


def support_is_what_the_devices_offer(usable):
    table_is_whole('--support', 'operation', operations_of_the_library(), usable)
    patterns = run(info, '--pattern', 'list').stdout.splitlines()
    table_is_whole('--mechanisms', 'mechanism', {line.split()[0] for line in patterns}, usable)


def bad_drivers_cost_a_line_of_the_list():
    """What a driver does in which call, whether its devices are listed, and the reason given."""
    places = str(pathlib.Path(loader).parent) + ':' + os.environ.get('LD_LIBRARY_PATH', '')
    for what, listed, reason in (
            ('', True, 'self-test wrote nothing'),
            ('fail CreateContext', True, 'CL_OUT_OF_RESOURCES'),
            ('fail GetPlatformIDs', False, 'no platform'),
            ('abort BuildProgram', True, 'ended the process (signal 6)'),
            ('sleep BuildProgram', True, 'did not answer in 1 s'),
            ('abort GetPlatformIDs', False, 'ended the process (signal 6)'),
            ('sleep GetDeviceIDs', False, 'did not answer in 1 s')):
        told = dict(os.environ, LD_LIBRARY_PATH=places, HEED_FAKE_OPENCL=what, HEED_CACHE_DIR='')
        r = run(info, '--test', '--json', '--wait', '1', environment=told)
        expect(r.returncode == 0, '%s: exits with %d: %s' % (what, r.returncode, r.stderr))
        found = json.loads(r.stdout)
        expect('reference' in [d['name'] for d in found['devices']], what + ': the host is listed')
        texts = [d['reason'] for d in found['devices'] if d['name'].startswith('opencl:0')]
        expect(len(texts) == (3 if listed else 0), '%s: %d names' % (what, len(texts)))
        if not listed:
            texts = [absent['reason'] for absent in found['absent'] if absent['kind'] == 'opencl']
        expect(texts and all(reason in text for text in texts), '%s: %s' % (what, texts))


def wrong_arguments_are_one_line():
    for arguments in (['--workload', 'foo'], ['--workload', 'dense:q=1'], ['--workload'],
                      ['--workload', 'dense:w=3'], ['--pairs', '14'], ['--pairs', 'x'],
                      ['--threads', '0'], ['--device', 'nosuch'], ['--bogus'], ['--json=1'],
                      ['--isa', 'avx2', '--device', 'reference'], ['--clock', 'sun'],
                      ['--numerics', 'sun'], ['--numerics'],
                      ['--device', ''], ['--vs', ''], ['--plugin', ''], ['--peer', '', 'dense'],
                      ['--peer', 'true'], ['--vs', 'nosuch', '--workload', 'dense:n=16']):
        r = run(bench, *arguments)
        expect(r.returncode == 2, '%s exits with %d' % (arguments, r.returncode))
        expect(r.stderr.count('\n') == 1, '%s says one line: %s' % (arguments, r.stderr))
        expect(r.stdout == '', '%s prints nothing' % arguments)
        expect('' not in arguments or r.stderr.startswith('heed-bench: %s: wanted' % arguments[0]),
               '%s names the option: %s' % (arguments, r.stderr))


def neighbours_are_told_and_change_the_clock():
    line = json.loads(run(bench, '--quick', '--json', '--neighbours', '1', 'dense:n=64').stdout)
    expect((line['neighbours'], line['clock']) == (1, 'wall'), 'a neighbour: wall time')
    line = json.loads(run(bench, '--quick', '--json', '--device', 'cpu', 'dense:n=64').stdout)
    expect((line['neighbours'], line['clock']) == (0, 'cpu'), 'no neighbour: CPU time')
    r = run(bench, '--quick', '--json', '--threads', '2', '--openmp', 'dense:n=64,h=2')
    expect('built without OpenMP' in r.stderr if r.returncode else json.loads(r.stdout)['threads'] == 2,
           '--openmp: ' + r.stderr)


def help_explains_what_is_asked_of_the_bits():
    text = run(bench, '--help').stdout
    expect(all('(%s)' % word in text for word in ('exact', 'repeat', 'fast')) and '(best,' in text,
           '--help says what the words of --numerics mean')


def results_are_complete(devices):
    keys = {'workload', 'device', 'isa', 'threads', 'useful_gflops', 'peak_gflops', 'share',
            'read_gbytes', 'written_gbytes', 'peak_gbytes', 'bandwidth_share', 'floor_share',
            'neighbours', 'score_ratio', 'extra_bytes', 'median_s', 'min_s', 'max_s', 'peak_of'}
    loads = ['window:n=64,w=9', 'dense:n=48,h=4,hk=2,d=20', 'causal:n=40,dtype=bf16,b=2']
    for i, device in enumerate(devices):
        mine = loads if i == 0 else loads[i % 3:][:1]
        options = [option for load in mine for option in ('--workload', load)]
        r = run(bench, '--quick', '--device', device, '--json', *options)
        expect(r.returncode == 0, '%s: %s' % (device, r.stderr))
        lines = [json.loads(line) for line in r.stdout.splitlines()]
        expect([line['workload'] for line in lines] == [load.split(':')[0] for load in mine],
               device + ': one object a workload, in order')
        for line in lines:
            expect(keys <= set(line), '%s lacks %s' % (device, keys - set(line)))
            host = device.split(':')[0] in ('cpu', 'reference', 'emulate')
            expect(line['device'] == device and line['threads'] == (1 if host else None),
                   device + ': as asked')
            if device.split(':')[0] in ('cpu', 'reference'):
                expect(line['isa'] != 'unknown' and line['peak_gflops'] > 0, device + ': has a peak')
                expect(line['peak_of'] == line['isa'], device + ': a peak of threads')
            if not host:
                expect(line['peak_of'] == device, device + ': a peak of its own')
                expect(line['peak_gbytes'] is line['bandwidth_share'] is None,
                       device + ': the bandwidth of the host is not its limit')
            expect(line['floor_share'] == max(filter(None, (line['share'], line['bandwidth_share'])),
                                              default=None), device + ': a floor')
            expect(line['min_s'] <= line['median_s'] <= line['max_s'], device + ': ordered times')
            rate = line['useful_gflops'] * line['median_s'] * 1e9
            pairs = {'dense': 48 * 48, 'causal': 40 * 41 // 2, 'window': 64 * 19 - 9 * 10}
            work = 4 * line['d'] * line['h'] * line['b'] * pairs[line['workload']]
            expect(math.isclose(rate, work, rel_tol=1e-4), device + ': rate is work over time')


def numerics_are_what_was_asked_for(devices):
    for device in {'cpu', 'emulate:mma'} & set(devices) | ({'reference'} if ALL else set()):
        rows = 160 if 'emulate' in device else 16 # fewer are no work for a matrix unit
        load = ['--quick', '--device', device, 'dense:n=%d,dtype=f16' % rows, 'merge:n=16',
                'lsg-norm:n=64']
        for asked in ('exact', 'repeat', 'fast', 'best'):
            r = run(bench, '--json', '--numerics', asked, *load)
            expect(r.returncode == 0, '%s --numerics %s: %s' % (device, asked, r.stderr))
            told = [json.loads(line)['numerics'] for line in r.stdout.splitlines()]
            fits = {'exact': {'exact'}, 'repeat': {'exact', 'repeat'}}.get(
                asked, {'exact', 'repeat', 'fast'})
            expect(len(told) == 3 and set(told) <= fits, '%s: %s is %s' % (device, asked, told))
            if 'emulate:mma' in device and asked == 'fast':
                expect(told[0] == 'fast', 'a matrix unit is FAST')
            table = run(bench, '--numerics', asked, *load).stdout.splitlines()
            expect(table[0].split()[3] == 'numerics' and table[2].split()[3] == told[0],
                   'the table has the numerics')


# What heed-bench does beside attention, small, with the bytes that each must read and write.
OPERATIONS = {
    'copy:n=96,d=20,h=3': (23040, 23040),
    'copy-gather:n=96,d=20,dtype=f16': (3840 + 384, 3840),
    'copy-scatter:n=96,d=20,b=2': (15360 + 768, 15360),
    'copy-paged:n=96,d=20,b=2,page=7': (15360 + 112, 15360),
    'pool-sum:n=33,d=20,kernel=3': (2640, 880),
    'pool-mean:n=33,d=20,h=2,b=2,kernel=5,stride=2': (10560, 4800),
    'pool-max:n=33,d=20,kernel=3,stride=7': (1200, 400),
    'pool-linear:n=32,d=20': (2560 + 128, 640),
    'pool-weighted:n=32,d=20,h=2,dtype=bf16': (2560 + 128, 640),
    'pool-dynamic:n=33,d=20,kernel=3,stride=2': (2640 + 192, 1280),
    'pool-bucket:n=33,d=20,b=2,block=16,buckets=4': (5280 + 264, 1920),
    'select-norm:n=33,d=20,block=16,count=5': (2640, 60),
    'select-topk:n=33,d=20,h=4,hk=2,queries=3,count=5': (5280 + 960, 240),
    'select-hash:n=33,d=20,block=16,buckets=4': (2640 + 800, 132),
    'push:n=33,d=20,h=2': (10560, 10560),
    'push:n=33,d=20,rows=10,b=2': (6880, 6880),
    'merge:n=33,d=20,h=2,parts=3': (16632, 5544),
    'state:n=33,d=20,h=2,parts=3,dtype=f16': (30096, 2904),
    'norm-layer:n=33,d=20,h=2': (10640, 10560),
    'norm-rms:n=33,d=20,dtype=f16': (2720, 2640),
    'norm-rms:n=33,d=20,residual=0': (2720, 2640),
    'rope-halves:n=33,d=20,h=2': (5280 + 2640, 5280),
    'rope-adjacent:n=330,h=1,d=20,dtype=bf16': (13200 + 26400, 13200),
    'act-gelu:n=33,d=20,h=2': (10560, 5280),
    'act-gelu:n=33,d=20,gated=0': (2640, 2640),
    'act-silu:n=33,d=20,h=1,dtype=f16': (2640, 1320),
    'recur-linear:n=33,d=20,h=4,hk=2,b=3': (84144, 50880),
    'recur-delta:n=33,d=20,h=2,dtype=f16': (11648, 5840),
    'embed:n=33,d=20,rows=50': (2640 + 132, 2640),
    'embed-sum:n=33,d=20,rows=50,dtype=f16,b=2': (2000 + 1320 + 80 + 528, 2640),
    'order:n=33,h=2,buckets=5': (264, 528 + 48),
    'linear-1024:n=33,d=20,out=7': (2640 + 560 + 28, 924),
    'linear-decode:n=1,d=20,out=7,dtype=f16': (40 + 280 + 28, 14),
    'linear-decode:n=1,d=64,out=7,dtype=q8_0': (256 + 476 + 28, 28),
    'gate:n=33,d=20,h=2': (15840, 5280),
    'lsg-norm:n=33,d=20,h=4,hk=2,block=8,factor=2,globals=3': (22080, 10560),
    'lsg-pooling:n=33,d=20,block=8,factor=2,globals=0,dtype=f16': (3960, 1320),
    'lsg-lsh:n=33,d=20,block=8,factor=2,globals=1': (8080, 2640),
    'lsg-bos-pooling:n=33,d=20,block=8,globals=1': (8080, 2640),
    'poolingformer2:n=33,d=20,window=9': (7920, 2640),
    'poolingformer2-fixed:n=33,d=20,window=9': (7920, 2640),
    'poolingformer2-max:n=33,d=20,window=9,b=2': (15840, 5280),
    'poolingformer2-ldconv:n=33,d=20,window=9,kernel=3': (7920 + 792, 2640),
}
PROGRAMS = 'lsg|poolingformer'    # names that begin so: of several operations


def mechanisms_do_the_work_of_their_pictures():
    names = [line.split()[0] for line in run(info, '--pattern', 'list').stdout.splitlines()]
    shape = 'n=48,h=1,d=8'
    # How much more than what is seen plans count: borders, which are large here, keys that two
    # terms name; a DOT bias is half a pair more.
    small = {'longformer': ('window=5,globals=2', 1, 1.05), 'bigbird': ('block=4', 1, 1.25),
             'hepos': ('queries=24', 1, 1), 'lsg-stride': ('block=4,globals=3', 1, 1.2),
             'compressive': ('memory=12,compressed=6', 1.5, 1.5)}
    expect(set(small) <= set(names), 'patterns that are workloads')
    for name, (own, least, most) in small.items():
        load = '%s:%s,%s' % (name, shape, own)
        picture = run(info, '--pattern', load).stdout.splitlines()
        pairs = int(picture[1].split(': ')[1].split(' ')[0])
        r = run(bench, '--quick', '--device', 'reference', '--json', '--workload', load)
        expect(r.returncode == 0, '%s: %s' % (load, r.stderr))
        line = json.loads(r.stdout)
        more = line['useful_gflops'] * line['median_s'] * 1e9 / (4 * 8 * pairs)
        expect(line['workload'] == name and least * 0.9999 <= more <= most * 1.0001,
               '%s: %d pairs are seen, %g times as many are counted' % (load, pairs, more))


def operations_say_what_they_move(devices):
    support = json.loads(run(info, '--support', '--json').stdout)['support']
    offered = {(c['operation'], c['device']) for c in support if c['supported']}
    measured = {re.match('[a-z]+', load)[0] for load in OPERATIONS}
    expect(operations_of_the_library() - {'attn'} <= measured, 'workloads of every operation')
    for i, device in enumerate(devices):
        whole = ALL and device in ('cpu', 'reference')
        loads = list(OPERATIONS) if whole else list(OPERATIONS)[i % 5::5]
        loads = [load for load in loads if re.match(PROGRAMS, load) or
                 (re.match('[a-z]+', load)[0], device) in offered]
        if not loads:
            continue
        options = [option for load in loads for option in ('--workload', load)]
        r = run(bench, '--quick', '--device', device, '--json', *options)
        expect(r.returncode == 0, '%s: %s' % (device, r.stderr))
        lines = [json.loads(line) for line in r.stdout.splitlines()]
        expect(len(lines) == len(loads), device + ': one object a workload')
        for load, line in zip(loads, lines):
            name, read, written = load.split(':')[0], *OPERATIONS[load]
            expect(line['workload'] == name and line['device'] == device, load + ': as asked')
            for key, bytes_moved in (('read_gbytes', read), ('written_gbytes', written)):
                expect(math.isclose(line[key] * line['median_s'] * 1e9, bytes_moved, rel_tol=1e-4),
                       '%s %s: %s is bytes over time' % (device, load, key))
            expect((line['useful_gflops'] is None) ==
                   (not re.match('recur|linear|select-topk|select-hash|' + PROGRAMS, name)),
                   load + ': operations where they are the work')
            if device.split(':')[0] in ('cpu', 'reference') and not re.match(PROGRAMS, name):
                expect(line['peak_gbytes'] > 0 and line['bandwidth_share'] > 0,
                       '%s %s: has a bandwidth' % (device, load))


def scores_are_compared_with_their_products():
    for load, has in (('n=512,queries=64', True), ('n=512,queries=65', False),
                      ('n=512,queries=64,dtype=f16', False)):
        r = run(bench, '--quick', '--device', 'reference', '--json', '--workload',
                'select-topk:' + load)
        line = json.loads(r.stdout)
        expect(line['score_ratio'] is not None and line['score_ratio'] > 0 if has
               else line['score_ratio'] is None, 'score products of ' + load)


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
    r = run(bench, '--vs', 'reference', '--workload', 'copy:n=64', '--json')
    line = json.loads(r.stdout)
    expect(line['ratio_min'] <= line['ratio'] <= line['ratio_max'], 'ordered ratios of a copy')


def broken_peers_are_one_line():
    load = ['--workload', 'dense:n=32', '--quick']
    # The first ends with its input, the second not at all; the last two answer once.
    for broken in ('exec >&-; cat >/dev/null', 'exec >&-; sleep 200; true', 'true', 'exit 3',
                   'echo nonsense; cat', 'while read x; do echo inf inf; done',
                   'while read x; do echo 1 nan; done', 'read x; echo 1 1; exit 3',
                   'read x; echo 1 1; exit 127'):
        start = time.monotonic()
        r = run(bench, '--peer', broken, *load)
        expect(r.returncode == 1 and r.stderr.count('\n') == 1 and 'the peer ended' in r.stderr,
               'a broken peer: %s: %s' % (broken, r.stderr))
        expect(time.monotonic() - start < 100, 'nobody waits for a broken peer: ' + broken)
    for silent in ('sleep 200', 'read x; echo 1 1; sleep 200'):
        r = run(bench, '--peer', silent, '--timeout', '1', *load)
        expect((r.returncode, r.stderr) ==
               (1, 'heed-bench: the peer did not answer in 1 s\n'), 'a silent peer: ' + r.stderr)
    r = run(bench, '--peer', '/no/such/peer', *load)
    expect((r.returncode, r.stdout, r.stderr) ==
           (2, '', 'heed-bench: --peer /no/such/peer: cannot be started: '
                   'No such file or directory\n'),
           'a peer that is not there: ' + r.stderr)
    r = run(bench, *load, '--peer',
            'echo early >&2; while read x; do echo 1 1; done; echo late >&2')
    expect((r.returncode, r.stderr) == (0, 'early\nlate\n'), 'what a peer says: ' + r.stderr)


def full_disks_end_the_run():
    if not os.path.exists('/dev/full'):
        return
    # The second workload would say that there is no memory for it.
    for form in ([], ['--json']):
        with open('/dev/full', 'w', encoding='utf-8') as full:
            r = subprocess.run([bench, '--quick', *form, 'dense:n=16',
                                'dense:n=1073741824,d=512'], stdout=full,
                               stderr=subprocess.PIPE, text=True, timeout=240, check=False)
        expect((r.returncode, r.stderr) ==
               (1, 'heed-bench: cannot write to standard output: No space left on device\n'),
               '%s: %s' % (form, r.stderr))


def work_of_drivers_is_on_no_clock_of_cpu_time(devices):
    elsewhere = [device for device in devices if device.split(':')[0] in ('opencl', 'cuda')][:1]
    load = ['--quick', '--json', 'dense:n=32']
    for device in elsewhere:
        for pair in (['--device', 'cpu', '--vs', device], ['--device', device, '--vs', 'cpu'],
                     ['--device', device]):
            r = run(bench, *pair, *load)
            expect(r.returncode == 0 and json.loads(r.stdout)['clock'] == 'wall',
                   '%s: %s' % (pair, r.stdout + r.stderr))
            r = run(bench, *pair, '--clock', 'cpu', *load)
            expect(r.returncode == 2 and r.stdout == '' and r.stderr.count('\n') == 1 and
                   r.stderr.startswith('heed-bench: --clock: '), '%s: %s' % (pair, r.stderr))
    r = run(bench, '--device', 'cpu', '--vs', 'reference', *load)
    expect(json.loads(r.stdout)['clock'] == 'cpu', 'threads of the host have CPU time')


usable = info_describes_every_device()
support_is_what_the_devices_offer(usable)
if loader:
    bad_drivers_cost_a_line_of_the_list()
wrong_arguments_are_one_line()
neighbours_are_told_and_change_the_clock()
help_explains_what_is_asked_of_the_bits()
results_are_complete(usable)
numerics_are_what_was_asked_for(usable)
mechanisms_do_the_work_of_their_pictures()
operations_say_what_they_move(usable)
scores_are_compared_with_their_products()
comparisons_have_a_ratio()
broken_peers_are_one_line()
full_disks_end_the_run()
work_of_drivers_is_on_no_clock_of_cpu_time(usable)
for failure in failures:
    print('failed: ' + failure)
sys.exit(1 if failures else 0)
