// The kubelet's chains in real iptables, in a network namespace of their own: the loop with the fake clock on the real programs.
// A whole kubelet creates them in unit-files.test.ts.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startComponent } from '../src/base/component.ts';
import { isKind } from '../src/base/errors.ts';
import { Verbosity } from '../src/base/log/log.ts';
import { textLogger } from '../src/base/log/log-text.ts';
import { IpTablesPrograms } from '../src/edge/iptables/iptables-programs.ts';
import { IptablesUtilChains } from '../src/network/iptables-util-chains.ts';
import { FakeClock } from '../test/fakes/fake-clock.ts';
import { waitFor } from './rig/wait.ts';
import { iptablesUnavailableReason, PrivateNetwork, type Variant } from './support/private-network.ts';

const families = ['iptables', 'ip6tables'] as const;
const tables = ['mangle', 'nat', 'filter'] as const;
const canary = ':KUBE-KUBELET-CANARY';
const drop =
  '-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment "block incoming localnet connections" -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP';
const jumps = ['-A INPUT -j KUBE-FIREWALL', '-A OUTPUT -j KUBE-FIREWALL'];
/** Sorted: the variants list chains in different orders. */
const complete = {
  'iptables mangle': [':KUBE-IPTABLES-HINT', canary],
  'iptables nat': [canary],
  'iptables filter': [...jumps, drop, ':KUBE-FIREWALL', canary].sort(),
  'ip6tables mangle': [':KUBE-IPTABLES-HINT', canary],
  'ip6tables nat': [canary],
  'ip6tables filter': [canary],
};

/** Input of iptables-restore by kube-proxy in iptables mode. */
const kubeProxy = `*filter
:KUBE-FIREWALL - [0:0]
-A KUBE-FIREWALL -m comment --comment "block incoming localnet connections" -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP
COMMIT
`;

const variants: readonly Variant[] = ['nft', 'legacy'];
const reasons = new Map(
  await Promise.all(variants.map(async (each) => [each, await iptablesUnavailableReason(each)] as const)),
);

for (const variant of variants) {
  const why = reasons.get(variant);
  const name = `iptables-${variant}${why === undefined ? '' : ` (skipped: ${why})`}`;
  describe.skipIf(why !== undefined)(name, () => {
    let network: PrivateNetwork;
    let clock: FakeClock;
    let log: string[];
    let end: () => Promise<void>;

    const start = async (): Promise<void> => {
      clock = new FakeClock();
      log = [];
      const stop = new AbortController();
      const write = (line: string): void => void log.push(line);
      const logger = textLogger({ write, clock, verbosity: new Verbosity(0), pid: 1 });
      const iptables = new IpTablesPrograms(network);
      const { stopped } = await startComponent(
        new IptablesUtilChains({ iptables, clock, log: logger }),
        stop.signal,
      );
      end = async () => {
        stop.abort();
        await stopped;
      };
    };
    const untilLogged = async (message: string, count: number): Promise<void> => {
      const logged = () => log.filter((line) => line.includes(`"${message}"`)).length === count;
      await waitFor(logged, `${count} × ${message}`).catch((err: unknown) => {
        throw new Error(`log: ${log.join('')}`, { cause: err });
      });
    };
    const untilInitialized = (): Promise<void> => untilLogged('Initialized iptables rules.', 2);
    const saved = async (): Promise<Readonly<Record<string, readonly string[]>>> => {
      const pairs = families.flatMap((family) => tables.map((table) => [family, table] as const));
      const all = pairs.map(async ([family, table]) => {
        const lines = await network.saved(family, table);
        return [`${family} ${table}`, [...lines].sort()] as const;
      });
      return Object.fromEntries(await Promise.all(all));
    };
    const flush = async (...flushed: readonly string[]): Promise<void> => {
      for (const table of flushed)
        for (const operation of ['-F', '-X']) await network.mustRun('iptables', ['-t', table, operation]);
    };

    beforeEach(async () => {
      network = new PrivateNetwork(variant);
      end = async () => undefined;
      await network.start();
    });
    afterEach(async () => {
      await end();
      await network.stop();
    });

    test('creates the chains and rules once, also over a restart, and leaves those of others alone', async () => {
      await network.mustRun('iptables', ['-A', 'INPUT', '-p', 'tcp', '-j', 'ACCEPT']);
      await start();
      await untilInitialized();
      const other = '-A INPUT -p tcp -j ACCEPT';
      const wanted = { ...complete, 'iptables filter': [...complete['iptables filter'], other].sort() };
      expect(await saved()).toEqual(wanted);
      const inOrder = await network.saved('iptables', 'filter');
      expect(inOrder.indexOf(jumps[0] ?? '')).toBeLessThan(inOrder.indexOf(other));
      await end();
      await start();
      await untilInitialized();
      expect(await saved()).toEqual(wanted);
    });

    test('restores everything after a flush of all tables, and after one of the filter table', async () => {
      await start();
      await untilInitialized();
      await flush(...tables);
      await clock.advance(60_000);
      await untilLogged('Restored iptables rules after a flush', 1);
      expect(await saved()).toEqual(complete);
      await flush('filter');
      await clock.advance(60_000);
      // The real programs run between the steps of the fake clock.
      await waitFor(async () => {
        await clock.advance(1_000);
        return log.some((line) => line.includes('Inconsistent iptables state detected'));
      }, 'the end of the flush');
      await untilLogged('Restored iptables rules after a flush', 2);
      expect(await saved()).toEqual(complete);
    });

    test('shares the rule of KUBE-FIREWALL with kube-proxy, whichever comes first', async () => {
      const proxy = async (): Promise<void> => {
        await network.mustRun('iptables-restore', ['--noflush'], kubeProxy);
        for (const chain of ['INPUT', 'OUTPUT']) {
          const jump = [chain, '-j', 'KUBE-FIREWALL'];
          await network
            .mustRun('iptables', ['-C', ...jump])
            .catch(() => network.mustRun('iptables', ['-I', ...jump]));
        }
      };
      await proxy();
      await start();
      await untilInitialized();
      expect(await saved()).toEqual(complete);
      await proxy();
      expect(await saved()).toEqual(complete);
    });

    // iptables-nft has no lock.
    if (variant === 'nft') return;
    test('retries while another program holds the lock', async () => {
      const release = await network.holdLock();
      await start();
      await untilLogged('Failed to initialize iptables rules; some functionality may be missing.', 2);
      expect(log[0]).toContain('xtables lock');
      await release();
      expect(await saved()).toMatchObject({ 'iptables mangle': [], 'ip6tables mangle': [] });
      await clock.advance(1_000);
      await untilInitialized();
      const { signal } = new AbortController();
      const again = await network.holdLock();
      const check = new IpTablesPrograms(network).hasChain('IPv4', { table: 'nat', chain: 'NONE' }, signal);
      await expect(check).rejects.toSatisfy((err) => isKind(err, 'unavailable'));
      await again();
      expect(await saved()).toEqual(complete);
    });
  });
}
