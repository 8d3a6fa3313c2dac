# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
#
# heed-info --pattern: every pattern is drawn, as characters and as SVG, and what is wrong is one
# line.

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
        colours = {r.get('fill') for r in root.iter('{http://www.w3.org/2000/svg}rect')}
        expect(len(colours) >= 3, name + ': something is seen')
        width = float(root.get('width'))
        expect(all(float(r.get('x', 0)) + float(r.get('width').rstrip('%')) <= width
                   for r in root.iter('{http://www.w3.org/2000/svg}rect')
                   if '%' not in r.get('width')), name + ': all of it is on the picture')
    window = run('--pattern', 'longformer:n=5,window=1,globals=0,h=1').stdout.splitlines()
    expect(window[4:] == ['##...', '###..', '.###.', '..###', '...##'], 'a window of one')


def wrong_patterns_are_refused():
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
