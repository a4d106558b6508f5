import { describe, expect, test } from 'vitest';
import { FakeHostPrograms, hanging } from '../../../test/fakes/fake-host-programs.ts';
import type { ProgramResult } from '../../api/ports/host-programs.ts';
import { isKind } from '../../base/errors.ts';
import { IpTablesPrograms } from './iptables-programs.ts';

const { signal } = new AbortController();
const chain = { table: 'filter', chain: 'KUBE-FIREWALL' } as const;
const rule = { ...chain, chain: 'INPUT', position: 'first', spec: ['-j', 'KUBE-FIREWALL'] } as const;
const locked = {
  code: 4,
  stderr: 'Another app is currently holding the xtables lock. Perhaps you want to use the -w option?\n',
};

function setUp(...results: readonly Partial<ProgramResult>[]) {
  const programs = new FakeHostPrograms();
  const left = [...results];
  const next = (): Partial<ProgramResult> | undefined => left.shift();
  programs.programs.set('iptables', next);
  programs.programs.set('ip6tables', next);
  return { programs, iptables: new IpTablesPrograms(programs) };
}

describe('IpTablesPrograms', () => {
  test('waits for the lock, bounds the output and sets a deadline', async () => {
    const { programs, iptables } = setUp();
    expect(await iptables.missingReason('IPv4', signal)).toBeUndefined();
    expect(programs.runs).toEqual([
      {
        program: 'iptables',
        args: ['-w', '5', '-S', 'POSTROUTING', '-t', 'nat'],
        timeoutMs: 10_000,
        outputBytes: 4096,
      },
    ]);
  });

  test('creates a chain, and accepts one that exists', async () => {
    const { programs, iptables } = setUp(
      { code: 0 },
      { code: 1, stderr: 'iptables: Chain already exists.\n' },
    );
    await iptables.ensureChain('IPv4', chain, signal);
    await iptables.ensureChain('IPv6', chain, signal);
    expect(programs.lines).toEqual([
      'iptables -w 5 -N KUBE-FIREWALL -t filter',
      'ip6tables -w 5 -N KUBE-FIREWALL -t filter',
    ]);
  });

  test('adds a rule at its position if a check reports that it is missing', async () => {
    const { programs, iptables } = setUp({ code: 1 }, { code: 0 }, { code: 1 }, { code: 0 }, { code: 0 });
    await iptables.ensureRule('IPv4', rule, signal);
    await iptables.ensureRule('IPv4', { ...rule, position: 'last' }, signal);
    await iptables.ensureRule('IPv4', rule, signal);
    expect(programs.lines).toEqual([
      'iptables -w 5 -C INPUT -t filter -j KUBE-FIREWALL',
      'iptables -w 5 -I INPUT -t filter -j KUBE-FIREWALL',
      'iptables -w 5 -C INPUT -t filter -j KUBE-FIREWALL',
      'iptables -w 5 -A INPUT -t filter -j KUBE-FIREWALL',
      'iptables -w 5 -C INPUT -t filter -j KUBE-FIREWALL',
    ]);
  });

  test('reports whether a chain exists', async () => {
    const { programs, iptables } = setUp({ code: 0 }, { code: 1 });
    expect(await iptables.hasChain('IPv4', chain, signal)).toBe(true);
    expect(await iptables.hasChain('IPv4', chain, signal)).toBe(false);
    expect(programs.lines[0]).toBe('iptables -w 5 -S KUBE-FIREWALL -t filter');
  });

  const undecided: readonly (readonly [string, Partial<ProgramResult>])[] = [
    ['a held lock', locked],
    ['an error of the kernel', { code: 4, stderr: 'CHAIN_ADD failed (Device or resource busy)' }],
    ['an error of usage', { code: 2 }],
    ['a missing table', { code: 3 }],
    ['a signal', { code: undefined }],
  ];
  for (const [name, result] of undecided)
    test(`${name} is neither "exists" nor "missing"`, async () => {
      const fails = async (work: Promise<unknown>): Promise<void> => {
        await expect(work).rejects.toSatisfy((err) =>
          isKind(err, result.code === 4 ? 'unavailable' : 'internal'),
        );
      };
      await fails(setUp(result).iptables.hasChain('IPv4', chain, signal));
      await fails(setUp(result).iptables.ensureChain('IPv4', chain, signal));
      await fails(setUp(result).iptables.ensureRule('IPv4', rule, signal));
      await fails(setUp({ code: 1 }, result).iptables.ensureRule('IPv4', rule, signal));
    });

  test('a rule that cannot be added is an error, whatever the code', async () => {
    const work = setUp({ code: 1 }, { code: 1 }).iptables.ensureRule('IPv4', rule, signal);
    await expect(work).rejects.toThrow(
      'iptables -I INPUT -t filter -j KUBE-FIREWALL failed with exit code 1',
    );
  });

  test('a missing program, a missing table and a kernel without nf_tables mean that the family is missing', async () => {
    const absent = new IpTablesPrograms(new FakeHostPrograms());
    expect(await absent.missingReason('IPv6', signal)).toBe('ip6tables not found on the node');
    const kernel = { code: 4, stderr: 'Could not fetch rule set generation id: Invalid argument\n' };
    const table = { code: 3, stderr: "can't initialize ip6tables table `nat': Table does not exist\n" };
    for (const result of [kernel, table])
      expect(await setUp(result).iptables.missingReason('IPv6', signal)).toContain(result.stderr.trim());
  });

  test('a held lock and a hanging program say nothing about the support of the family', async () => {
    await expect(setUp(locked).iptables.missingReason('IPv4', signal)).rejects.toThrow('xtables lock');
    const { programs, iptables } = setUp();
    programs.programs.set('iptables', hanging('iptables'));
    await expect(iptables.missingReason('IPv4', signal)).rejects.toSatisfy((err) => isKind(err, 'timeout'));
    await expect(iptables.hasChain('IPv4', chain, signal)).rejects.toSatisfy((err) => isKind(err, 'timeout'));
  });
});
