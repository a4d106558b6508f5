import { expect, test } from 'vitest';
import { aTopology } from '../../../test/builders/cpu-machine.ts';
import { parseCpuState } from './cpu-assignments.ts';
import { CpuSet } from './cpu-set.ts';
import { computeRecoveredCpus } from './recover-cpu-state.ts';
import { takeCpus } from './take-cpus.ts';

type Entries = Record<string, Record<string, string>>;

interface Case {
  readonly stored?: { policy?: string; shared: string; entries?: Entries };
  /** CPUs 0-7, 0 reserved, unless stated. */
  readonly cpus?: string;
  readonly reserved?: string;
  readonly strict?: boolean;
  readonly want: { shared: string; entries?: Entries; why?: string; moved?: readonly string[] };
}

const none: Readonly<Entries> = {};
const cases: Readonly<Record<string, Case>> = {
  'no file → all CPUs are shared': { want: { shared: '0-7' } },
  'no file, strict → reserved CPUs are not shared': { strict: true, want: { shared: '1-7' } },
  'file without CPUs → all are shared': { stored: { shared: '' }, want: { shared: '0-7' } },
  'consistent → as stored': {
    stored: { shared: '0,3-7', entries: { u: { c: '1-2' } } },
    want: { shared: '0,3-7', entries: { u: { c: '1-2' } } },
  },
  'containers of one pod may share CPUs': {
    stored: { shared: '0,3-7', entries: { u: { i: '1-2', c: '1' } } },
    want: { shared: '0,3-7', entries: { u: { i: '1-2', c: '1' } } },
  },
  'other policy → nothing is assigned': {
    stored: { policy: 'none', shared: '' },
    want: {
      shared: '0-7',
      why: 'configured policy "static" differs from state checkpoint policy "none"',
    },
  },
  'no shared CPUs → recomputed': {
    stored: { shared: '', entries: { u: { c: '1-2' } } },
    want: { shared: '0,3-7', entries: { u: { c: '1-2' } }, why: 'default cpuset cannot be empty' },
  },
  'assignment overlaps the shared CPUs → it wins': {
    stored: { shared: '0-7', entries: { u: { c: '1-2' } } },
    want: {
      shared: '0,3-7',
      entries: { u: { c: '1-2' } },
      why: 'pod: u, container: c cpuset: "1-2" overlaps with default cpuset "0-7"',
    },
  },
  'assignments of two pods overlap → one is moved': {
    stored: { shared: '0,4-7', entries: { a: { c: '1-2' }, b: { c: '2-3' } } },
    want: {
      shared: '0,5-7',
      entries: { a: { c: '1-2' }, b: { c: '3-4' } },
      why: 'pod: b, container: c cpuset: "2-3" overlaps with the cpuset of another pod',
      moved: ['b/c 2-3 → 3-4'],
    },
  },
  'fewer CPUs, none of them assigned': {
    stored: { shared: '0,3-7', entries: { u: { c: '1-2' } } },
    cpus: '0-5',
    want: {
      shared: '0,3-5',
      entries: { u: { c: '1-2' } },
      why: `current set of available CPUs "0-5" doesn't match with CPUs in state "0-7"`,
    },
  },
  'fewer CPUs, assigned ones among them → moved': {
    stored: { shared: '0-4', entries: { u: { c: '6-7' }, v: { c: '5' } } },
    cpus: '0-5',
    want: {
      shared: '0,3-4',
      entries: { u: { c: '1-2' }, v: { c: '5' } },
      why: `current set of available CPUs "0-5" doesn't match with CPUs in state "0-7"`,
      moved: ['u/c 6-7 → 1-2'],
    },
  },
  'fewer CPUs, too few free → shared': {
    stored: { shared: '0', entries: { u: { c: '1-3' }, v: { c: '4-7' } } },
    cpus: '0-5',
    want: {
      shared: '0,4-5',
      entries: { u: { c: '1-3' } },
      why: `current set of available CPUs "0-5" doesn't match with CPUs in state "0-7"`,
      moved: ['v/c 4-7 → shared'],
    },
  },
  'moved containers share as many CPUs as before': {
    stored: { shared: '0-4', entries: { u: { i: '5-6', a: '5-7', b: '6' } } },
    cpus: '0-5',
    want: {
      shared: '0,4-5',
      entries: { u: { a: '1-3', i: '1-2', b: '1' } },
      why: `current set of available CPUs "0-5" doesn't match with CPUs in state "0-7"`,
      moved: ['u/a 5-7 → 1-3', 'u/b 6 → 1', 'u/i 5-6 → 1-2'],
    },
  },
  'more CPUs → shared': {
    stored: { shared: '0,3', entries: { u: { c: '1-2' } } },
    want: {
      shared: '0,3-7',
      entries: { u: { c: '1-2' } },
      why: `current set of available CPUs "0-7" doesn't match with CPUs in state "0-3"`,
    },
  },
  'other CPUs are reserved → a container leaves them': {
    stored: { shared: '0,3-7', entries: { u: { c: '1-2' } } },
    reserved: '1',
    want: {
      shared: '1,3-7',
      entries: { u: { c: '0,2' } },
      why: 'not all reserved cpus: "1" are present in defaultCpuSet: "0,3-7"',
      moved: ['u/c 1-2 → 0,2'],
    },
  },
  'strict-cpu-reservation was turned on': {
    stored: { shared: '0,3-7', entries: { u: { c: '1-2' } } },
    strict: true,
    want: {
      shared: '3-7',
      entries: { u: { c: '1-2' } },
      why: 'some of strictly reserved cpus: "0" are present in defaultCpuSet: "0,3-7"',
    },
  },
  'strict-cpu-reservation was turned off': {
    stored: { shared: '3-7', entries: { u: { c: '1-2' } } },
    want: {
      shared: '0,3-7',
      entries: { u: { c: '1-2' } },
      why: 'not all reserved cpus: "0" are present in defaultCpuSet: "3-7"',
    },
  },
};

const topology = aTopology({ numaNodes: 1, coresPerNode: 8, threads: 1 });
const strategy = { sort: 'packed', preferAlignByUncoreCache: false } as const;

for (const [name, { cpus = '0-7', reserved = '0', stored, strict = false, want }] of Object.entries(cases))
  test(`computeRecoveredCpus: ${name}`, () => {
    const reservedCpus = CpuSet.parse(reserved);
    const machine = CpuSet.parse(cpus);
    const state = stored && {
      policyName: stored.policy ?? 'static',
      defaultCpuSet: stored.shared,
      entries: stored.entries ?? none,
    };
    const found = computeRecoveredCpus(state && parseCpuState(state), {
      policyName: 'static',
      all: strict ? machine.difference(reservedCpus) : machine,
      reserved: reservedCpus,
      isStrict: strict,
      take: (available, count) => takeCpus(topology, available, count, strategy),
    });
    const entries = [...found.entries].map(([uid, each]) => [
      uid,
      Object.fromEntries([...each].map(([container, set]) => [container, `${set}`])),
    ]);
    expect({
      shared: `${found.defaultCpus}`,
      entries: Object.fromEntries(entries),
      why: found.why,
      moved: found.moved.map(
        ({ container, from, to, uid }) => `${uid}/${container} ${from} → ${to ?? 'shared'}`,
      ),
    }).toEqual({ entries: none, why: undefined, moved: [], ...want });
  });
