import { expect, test } from 'vitest';
import { allFlags } from '../command-line/flag-index.ts';
import { subcommandNames } from '../command-line/subcommands.ts';
import { listedGates } from '../gates/feature-gates.ts';
import { manPage } from './man-page.ts';

const page = manPage('2026-01-31');

test('has the sections of a manual page in their order', () => {
  expect(Array.from(page.matchAll(/^\.SH (.*)$/gm), ([, title]) => title)).toEqual([
    'NAME',
    'SYNOPSIS',
    'DESCRIPTION',
    'COMMANDS',
    'OPTIONS',
    'CONFIGURATION FILE',
    'FEATURE GATES',
    'FILES',
    'EXIT STATUS',
    'SIGNALS',
    'SEE ALSO',
  ]);
});

test('describes every flag, command and gate once', () => {
  const terms = Array.from(page.matchAll(/^\.TP\n(.*)$/gm), ([, term]) =>
    (term ?? '').replaceAll('\\-', '-'),
  );
  for (const { name } of allFlags)
    expect(terms.filter((term) => term.includes(`\\fB--${name}\\fR`))).toHaveLength(1);
  for (const name of subcommandNames)
    expect(terms.filter((term) => term.startsWith(`\\fB${name}`))).toHaveLength(1);
  for (const { name } of listedGates()) expect(terms).toContain(`\\fB${name}\\fR`);
});

test('a flag has its type, field, default, values and deprecation', () => {
  const entry = (name: string) =>
    page.split('.TP\n').find((each) => each.startsWith(`\\fB\\-\\-${name}\\fR`));
  expect(entry('topology\\-manager\\-scope')).toBe(
    `\\fB\\-\\-topology\\-manager\\-scope\\fR=\\fIstring\\fR
Whether each container or the whole pod is aligned. One of container, pod.
.br
Field: topologyManagerScope.
.br
Default: \\(dqcontainer\\(dq
.br
Deprecated. Set topologyManagerScope in the configuration file (\\-\\-config).
`,
  );
  expect(entry('kubeconfig')).not.toContain('Deprecated');
});

test('only the macros of the page start with a dot', () => {
  const requests = page.split('\n').filter((line) => /^[.']/.test(line));
  const names = new Set(requests.map((line) => line.slice(0, 3)));
  expect(names).toEqual(new Set(['.PP', '.SH', '.TH', '.TP', '.ad', '.br', '.nh']));
  expect(page).toMatch(/^\.TH KUBELET 8 "2026-01-31" "kubelet v1\.37\.0\+ts\.[\d.]+" "Kubernetes"$/m);
});
