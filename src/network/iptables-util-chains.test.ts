import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { FakeIpTables } from '../../test/fakes/fake-iptables.ts';
import type { IpFamily } from '../api/ports/iptables.ts';
import { raceAbort } from '../base/abort/race-abort.ts';
import { startComponent } from '../base/component.ts';
import { KubeletError } from '../base/errors.ts';
import { Verbosity } from '../base/log/log.ts';
import { textLogger } from '../base/log/log-text.ts';
import { IptablesUtilChains } from './iptables-util-chains.ts';

const minute = 60_000;
const drop =
  '-m comment --comment block incoming localnet connections --dst 127.0.0.0/8 ! --src 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP';
const canaryChains = {
  'mangle KUBE-KUBELET-CANARY': [],
  'nat KUBE-KUBELET-CANARY': [],
  'filter KUBE-KUBELET-CANARY': [],
};
const complete = {
  IPv4: {
    'mangle KUBE-IPTABLES-HINT': [],
    'filter KUBE-FIREWALL': [drop],
    'filter INPUT': ['-j KUBE-FIREWALL'],
    'filter OUTPUT': ['-j KUBE-FIREWALL'],
    ...canaryChains,
  },
  IPv6: { 'mangle KUBE-IPTABLES-HINT': [], ...canaryChains },
};
const busy = (): never => {
  throw new KubeletError('unavailable', 'ResourceProblem', 'another program holds the xtables lock');
};
const forever = (signal: AbortSignal): Promise<never> =>
  raceAbort(new Promise<never>(() => undefined), signal);

describe('IptablesUtilChains', () => {
  let clock: FakeClock;
  let iptables: FakeIpTables;
  let log: string[];
  let stop: AbortController;
  let stopped: Promise<void>;

  const start = async (): Promise<void> => {
    stop = new AbortController();
    const write = (line: string): void => void log.push(line.slice(line.indexOf('] ') + 2).trim());
    const logger = textLogger({ write, clock, verbosity: new Verbosity(0), pid: 1 });
    const component = new IptablesUtilChains({ iptables, clock, log: logger });
    ({ stopped } = await startComponent(component, stop.signal));
    await clock.settle();
  };
  const end = async (): Promise<void> => {
    stop.abort();
    await stopped;
  };
  const contents = () => ({ IPv4: iptables.content('IPv4'), IPv6: iptables.content('IPv6') });
  /** The calls that create something, by family, without those before. */
  const created = (family: IpFamily): readonly string[] =>
    iptables.calls.splice(0).filter((call) => new RegExp(`^${family} (chain|rule)`).test(call));

  beforeEach(() => {
    clock = new FakeClock();
    iptables = new FakeIpTables();
    log = [];
  });
  afterEach(async () => {
    await end();
    expect(clock.pendingTimers()).toBe(0);
  });

  test('creates the chains, then the canaries, of both families at start, and leaves them at the stop', async () => {
    await start();
    expect(contents()).toEqual(complete);
    expect(log).toEqual([
      expect.stringContaining('"Initialized iptables rules." protocol="IPv6"'),
      expect.stringContaining('"Initialized iptables rules." protocol="IPv4"'),
    ]);
    expect(created('IPv4')).toEqual([
      'IPv4 chain mangle KUBE-IPTABLES-HINT',
      'IPv4 chain filter KUBE-FIREWALL',
      'IPv4 rule filter OUTPUT',
      'IPv4 rule filter INPUT',
      'IPv4 rule filter KUBE-FIREWALL',
      'IPv4 chain mangle KUBE-KUBELET-CANARY',
      'IPv4 chain nat KUBE-KUBELET-CANARY',
      'IPv4 chain filter KUBE-KUBELET-CANARY',
    ]);
    await end();
    expect(contents()).toEqual(complete);
  });

  test('changes nothing over a restart, and puts its jumps before the rules of others only when it adds them', async () => {
    iptables.tables.IPv4.get('filter INPUT')?.push('-j OTHER');
    await start();
    await end();
    iptables.tables.IPv4.get('filter INPUT')?.unshift('-j LATER');
    const before = structuredClone(contents());
    expect(before.IPv4['filter INPUT']).toEqual(['-j LATER', '-j KUBE-FIREWALL', '-j OTHER']);
    await start();
    await clock.advance(minute);
    expect(contents()).toEqual(before);
  });

  test('checks the canaries every minute and creates nothing while they exist', async () => {
    await start();
    iptables.calls.splice(0);
    await clock.advance(3 * minute - 1);
    expect(iptables.calls.filter((call) => call === 'IPv4 has mangle KUBE-KUBELET-CANARY')).toHaveLength(2);
    expect(iptables.calls.every((call) => call.includes(' has '))).toBe(true);
  });

  test('restores everything within a minute of a flush, again and again, and leaves the other family alone', async () => {
    await start();
    for (let round = 0; round < 2; round++) {
      iptables.calls.splice(0);
      iptables.flush('IPv4', 'mangle', 'nat', 'filter');
      await clock.advance(minute);
      expect(contents()).toEqual(complete);
      expect(created('IPv6')).toEqual([]);
    }
    expect(log.slice(2)).toEqual(
      Array(2).fill(expect.stringContaining('"Restored iptables rules after a flush" protocol="IPv4"')),
    );
  });

  test('waits for the end of a flush that takes a while', async () => {
    await start();
    iptables.calls.splice(0);
    iptables.flush('IPv4', 'mangle');
    await clock.advance(minute + 950);
    expect(created('IPv4')).toEqual([]);
    iptables.flush('IPv4', 'nat', 'filter');
    await clock.advance(100);
    expect(contents()).toEqual(complete);
    expect(log.join('\n')).not.toContain('Inconsistent');
  });

  test('the time that a check takes does not shorten the wait for the end of a flush', async () => {
    await start();
    iptables.calls.splice(0);
    iptables.before = (call, signal) =>
      call === 'IPv4 has mangle KUBE-KUBELET-CANARY' ? clock.sleep(10_000, signal).then(timeout) : undefined;
    iptables.flush('IPv4', 'nat');
    await clock.advance(minute + 14_000);
    expect(created('IPv4')).toEqual([]);
    iptables.before = () => undefined;
    await clock.advance(20_000);
    expect(contents()).toEqual(complete);
  });

  for (const table of ['mangle', 'nat', 'filter'] as const)
    test(`restores everything 5 s after it noticed that only ${table} was flushed`, async () => {
      await start();
      iptables.calls.splice(0);
      iptables.flush('IPv4', table);
      await clock.advance(minute + 4_900);
      expect(created('IPv4')).toEqual([]);
      await clock.advance(200);
      expect(contents()).toEqual(complete);
      expect(log).toContainEqual(
        expect.stringContaining('"Inconsistent iptables state detected" protocol="IPv4"'),
      );
    });

  test('does not take a held lock for a flush: it creates nothing and checks again a minute later', async () => {
    await start();
    iptables.calls.splice(0);
    iptables.before = busy;
    await clock.advance(3 * minute);
    expect(created('IPv4')).toEqual([]);
    iptables.before = () => undefined;
    iptables.flush('IPv4', 'mangle', 'nat', 'filter');
    await clock.advance(minute);
    expect(contents()).toEqual(complete);
    // Once per family, not once per check.
    expect(log.filter((line) => line.startsWith('"Could not check'))).toHaveLength(2);
  });

  test('retries with backoff while the lock is held at the start', async () => {
    iptables.before = busy;
    await start();
    await clock.advance(2 * minute);
    const probes = iptables.calls.filter((call) => call === 'IPv4 probe').length;
    expect(probes).toBe(7);
    expect(contents()).toEqual({ IPv4: {}, IPv6: {} });
    iptables.before = () => undefined;
    await clock.advance(5 * minute);
    expect(contents()).toEqual(complete);
    expect(log.filter((line) => line.includes('Failed to initialize iptables rules'))).toHaveLength(2);
  });

  test('retries a rule that could not be added, also after a flush, and is not content with a part', async () => {
    let fails = true;
    iptables.before = (call) => {
      if (fails && call === 'IPv4 rule filter KUBE-FIREWALL')
        throw new KubeletError('internal', 'IPTablesFailed', 'no match conntrack');
    };
    await start();
    expect(contents().IPv4).not.toHaveProperty('mangle KUBE-KUBELET-CANARY');
    expect(contents().IPv6).toEqual(complete.IPv6);
    fails = false;
    await clock.advance(1_000);
    expect(contents()).toEqual(complete);
    fails = true;
    iptables.flush('IPv4', 'mangle', 'nat', 'filter');
    await clock.advance(minute);
    fails = false;
    await clock.advance(minute);
    expect(contents()).toEqual(complete);
  });

  test('a family whose program hangs until its deadline does not affect the other', async () => {
    iptables.before = (call, signal) =>
      call.startsWith('IPv4') ? clock.sleep(10_000, signal).then(timeout) : undefined;
    await start();
    expect(contents()).toEqual({ IPv4: {}, IPv6: complete.IPv6 });
    await clock.advance(10_000);
    expect(log.at(-1)).toContain('protocol="IPv4"');
    iptables.flush('IPv6', 'mangle', 'nat', 'filter');
    await clock.advance(minute);
    expect(contents().IPv6).toEqual(complete.IPv6);
    iptables.before = () => undefined;
    await clock.advance(2 * minute);
    expect(contents()).toEqual(complete);
  });

  test('the stop does not wait for a program that hangs', async () => {
    iptables.before = (_call, signal) => forever(signal);
    await start();
    await end();
    expect(log).toEqual([]);
  });

  test('without ip6tables only IPv4 has rules, and nothing is logged about it', async () => {
    iptables.missing.set('IPv6', 'ip6tables not found on the node');
    await start();
    await clock.advance(10 * minute);
    expect(contents()).toEqual({ IPv4: complete.IPv4, IPv6: {} });
    expect(iptables.calls.filter((call) => call.startsWith('IPv6'))).toEqual(['IPv6 probe']);
    expect(log).toEqual([expect.stringContaining('"Initialized iptables rules." protocol="IPv4"')]);
  });

  test('on a host without iptables it logs one line and never tries again', async () => {
    iptables.missing.set('IPv4', 'iptables not found on the node');
    iptables.missing.set('IPv6', 'ip6tables not found on the node');
    await start();
    await clock.advance(10 * minute);
    expect(iptables.calls).toEqual(['IPv4 probe', 'IPv6 probe']);
    expect(log).toEqual(['"No iptables support on this system; not creating the KUBE-IPTABLES-HINT chain"']);
  });
});

function timeout(): never {
  throw new KubeletError('timeout', 'ProgramTimeout', 'iptables did not exit within 10000 ms');
}
