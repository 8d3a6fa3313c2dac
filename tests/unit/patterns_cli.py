# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
#
# heed-info --pattern: every pattern is drawn, as characters and as SVG, and what is wrong is one
# line.

import re
import subprocess
import sys
import xml.etree.ElementTree

info = sys.argv[1]
failures = []


def run(*arguments):
    return subprocess.run([info, *arguments], capture_output=True, text=True, timeout=60)


def expect(condition, what):
    if not condition:
        failures.append(what)


def patterns_are_drawn():
    names = [line.split()[0] for line in run('--pattern', 'list').stdout.splitlines()]
    expect(len(names) == len(set(names)) >= 15, 'a list of patterns')
    for name in names:
        text, svg = run('--pattern', name), run('--pattern', name, '--svg')
        expect(text.returncode == 0 and svg.returncode == 0, name + ' is drawn')
        lines = text.stdout.splitlines()
        cells = ''.join(lines[4:]).replace(' ', '')
        stated = int(lines[1].split(': ')[1].split(' ')[0])
        expect(len(set(map(len, lines[4:]))) == 1, name + ': rows are of one length')
        expect(sum({'.': 0, '#': 1}.get(c) if c in '.#' else int(c) for c in cells) == stated,
               name + ': the pairs are those that are drawn')
        root = xml.etree.ElementTree.fromstring(svg.stdout)
        # A run of cells is a line of a path: its colour, and column, row and length of each.
        runs = [(path.get('stroke'), *map(int, run))
                for path in root.iter('{http://www.w3.org/2000/svg}path')
                if path.get('stroke') != '#fff'
                for run in re.findall(r'M(\d+) (\d+)h(\d+)', path.get('d'))]
        expect(sum(run[3] for run in runs) == sum(c != '.' for c in cells),
               name + ': what is seen is drawn')
        expect(sum(run[3] for run in runs if run[0] == '#b3261e') ==
               sum(c not in '.#' for c in cells), name + ': what is seen again has its colour')
        width = float(root.get('width'))
        expect(all(float(r.get('x', 0)) + float(r.get('width').rstrip('%')) <= width
                   for r in root.iter('{http://www.w3.org/2000/svg}rect')
                   if '%' not in r.get('width')), name + ': all of it is on the picture')
    window = run('--pattern', 'longformer:n=5,window=1,globals=0,h=1').stdout.splitlines()
    expect(window[4:] == ['##...', '###..', '.###.', '..###', '...##'], 'a window of one')


def wrong_patterns_are_refused():
    def said(wrong):
        return run('--pattern', wrong).stderr
    listed = dict((line.split()[0], line.split()[-1]) for line in
                  run('--pattern', 'list').stdout.splitlines())
    for name, keys in listed.items():
        expect(f'({keys},hk,dtype)' in said(name + ':nosuch=1'), name + ': other keys than in the list')
        drawn = re.search(r'\(.*:(.*),dtype=f32\)$', run('--pattern', name).stdout.splitlines()[0])
        expect(set(drawn[1].split(',')) | {'sparse=4'} == set(keys.split(',')) | {'sparse=4'},
               name + ': other defaults than in the list')
        for pair in keys.split(',') + ['hk=1', 'dtype=f16']:
            key = pair.split('=')[0]
            expect(f'{key} is given twice' in said(f'{name}:{pair},{pair}'), f'{name}: {key} twice')
            ends = re.search(r'from (\d+) to (\d+)', said(f'{name}:{key}=x'))
            for value, good in ((int(ends[1]), True), (int(ends[1]) - 1, False),
                                (int(ends[2]) + 1, False)) if ends else ():
                expect(good != (f'{key} is a whole number' in said(f'{name}:{key}={value}')),
                       f'{name}: the range of {key}')
    expect('from 1 to 2048' in said('longformer:n=5000'), 'more rows than a picture has')
    # What is in range takes no longer than it takes to draw, and the library has it in range, too.
    expect('from 1 to 2048' in said('lsg-block-stride:sparse=16777216'), 'a block beyond the picture')
    expect(run('--pattern', 'longformer:dilation=1048576').returncode == 0, 'the largest dilation')
    expect('from 1 to 1048576' in said('longformer:dilation=1048577'), 'a dilation beyond it')
    for wrong in (['nosuch'], ['lsg:block=0'], ['lsg:window=3'], ['lsg:block'], ['lsg:n=x'],
                  ['lsg:factor=3'], ['lsg-stride:block=4,factor=3'], ['longformer:n=5000'],
                  ['bigbird', '--head', '4'], ['bigbird', '--head', '-1'], [''],
                  ['longformer:h=4,hk=3'], ['deberta:dtype=f64'], ['salient:prefix=16777217'],
                  ['lsg:' + 'n=1,' * 100]):
        r = run('--pattern', *wrong)
        expect(r.returncode in (1, 2) and r.stdout == '' and r.stderr.count('\n') == 1,
               'heed-info --pattern refuses %s: %d %s' % (wrong, r.returncode, r.stderr))
    for wrong in (['--svg'], ['--head', '1'], ['--pattern']):
        expect(run(*wrong).returncode == 2, 'heed-info refuses ' + ' '.join(wrong))


patterns_are_drawn()
wrong_patterns_are_refused()
for failure in failures:
    print('failed: ' + failure)
sys.exit(1 if failures else 0)
