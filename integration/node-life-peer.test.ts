// What happens around the pods looks as with a Go kubelet: traces, the kubelet's chains in iptables and a shutdown of the machine are
// recorded with this kubelet and with the one that PEER_KUBELET names, and compared but for the differences that are named here.
import { existsSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { describeOnRig } from './rig/on-rig.ts';
import { slowness, waitFor } from './rig/wait.ts';
import { logindUnavailableReason } from './support/fake-logind.ts';
import { type IptablesNode, startIptablesNode, startLifeNode } from './support/node-life-node.ts';
import { type Shutdown, showShutdown } from './support/node-life-shutdown.ts';
import { showTraces, type Traces } from './support/node-life-traces.ts';
import { iptablesUnavailableReason, type Variant } from './support/private-network.ts';

const peer = process.env['PEER_KUBELET'];
const scenarioMs = 300_000 * slowness;
/** Both check for a flush once a minute. */
const checkMs = 120_000;

function reasonToSkip(): string | undefined {
  if (peer === undefined) return 'PEER_KUBELET is not set';
  if (!existsSync(peer)) return `${peer} does not exist`;
  return logindUnavailableReason();
}

async function showLife(command: string | undefined): Promise<{ traces: Traces; shutdown: Shutdown }> {
  const node = await startLifeNode(command);
  try {
    return { traces: await showTraces(node), shutdown: await showShutdown(node) };
  } catch (err) {
    throw new Error(node.describe(), { cause: err });
  } finally {
    await node.stop();
  }
}

type Saved = Awaited<ReturnType<IptablesNode['saved']>>;

interface ShownIptables {
  readonly variant: string | undefined;
  readonly created: Saved;
  readonly flushed: Saved;
  readonly restored: Saved;
  /** After the end of the kubelet. */
  readonly left: Saved;
}

async function showIptables(variant: Variant, command: string | undefined): Promise<ShownIptables> {
  const node = await startIptablesNode(command, variant);
  /** The canaries of a family are created after its rules, that of the filter table last. */
  const untilComplete = async (): Promise<Saved> => {
    const isComplete = async (): Promise<boolean> => {
      if (!node.kubelet.running) throw new Error(`the kubelet exited: ${node.kubelet.log.text()}`);
      const saved = await node.saved();
      const last = [saved['iptables filter'], saved['ip6tables filter']];
      return last.every((lines) => lines?.includes(':KUBE-KUBELET-CANARY'));
    };
    await waitFor(isComplete, 'the chains of both families', { timeoutMs: checkMs, everyMs: 500 });
    // The tables are not read at the same moment.
    return node.saved();
  };
  try {
    const created = await untilComplete();
    await node.flush();
    const flushed = await node.saved();
    const restored = await untilComplete();
    await node.kubelet.stop();
    return { variant: await node.variant(), created, flushed, restored, left: await node.saved() };
  } finally {
    await node.stop();
  }
}

/** A node that fails does not leave the other one behind. */
async function both<T>(show: (command: string | undefined) => Promise<T>): Promise<readonly [T, T]> {
  const shown = [show(peer), show(undefined)] as const;
  await Promise.allSettled(shown);
  return await Promise.all(shown);
}

const without = (lines: readonly string[], pattern: RegExp): readonly string[] =>
  lines.filter((line) => !pattern.test(line));
const replaced = (lines: readonly string[], pattern: RegExp, by: string): readonly string[] => [
  ...new Set(lines.map((line) => line.replace(pattern, by))),
];

const skipReason = reasonToSkip();
describe.skipIf(skipReason !== undefined)(
  skipReason === undefined ? `Go kubelet ${peer}` : `Go kubelet (skipped: ${skipReason})`,
  () => {
    describeOnRig('iptables', () => {
      test.concurrent.for(['nft', 'legacy'] as const)(
        'chains and rules of iptables-%s are the same, also after a flush and at the end',
        { timeout: scenarioMs },
        async (variant, { expect: is, skip }) => {
          const why = await iptablesUnavailableReason(variant);
          if (why !== undefined) skip(why);
          const [theirs, ours] = await both((command) => showIptables(variant, command));
          is(ours).toEqual(theirs);
          is(ours.variant).toBe(variant === 'nft' ? 'nf_tables' : 'legacy');
          is(ours.restored).toEqual(ours.created);
          is(Object.values(ours.flushed).flat()).toEqual([]);
        },
      );
    });

    describeOnRig('around the pods', () => {
      let ours: Awaited<ReturnType<typeof showLife>>;
      let theirs: Awaited<ReturnType<typeof showLife>>;
      beforeAll(async () => {
        [theirs, ours] = await both(showLife);
      }, scenarioMs);

      describe('traces', () => {
        test.each(['resources', 'work', 'calls', 'headers'] as const)('%s', (aspect) => {
          expect(ours.traces[aspect]).toEqual(theirs.traces[aspect]);
        });

        test('requests to the API server, but for the protocol, which a Go kubelet does not know', () => {
          const protocol = /,network\.protocol\.version/;
          expect(ours.traces.requests).toEqual(replaced(theirs.traces.requests, protocol, ''));
          expect(theirs.traces.requests.join()).toMatch(protocol);
        });

        test('requests to the ports, but for the names of plain paths and the trace of the client', () => {
          const plain = / "[^"]*" (?=\/(?:metrics|healthz|configz) )/;
          const client = /parent=\w+ links=\d/;
          const common = ({ traces: { served } }: typeof ours): readonly string[] =>
            replaced(replaced(served, plain, ' "" '), client, '');
          expect(common(ours)).toEqual(common(theirs));
          expect(theirs.traces.served.every((line) => line.endsWith('parent=none links=0'))).toBe(true);
          const follows = (line: string): boolean =>
            line.endsWith(line.startsWith('https ') ? 'parent=client links=0' : 'parent=none links=1');
          expect(without(ours.traces.served, / \/pods: .*parent=none/).every(follows)).toBe(true);
        });

        test('calls with which a pod starts and ends belong to its syncs, but for what ends with its removal', () => {
          const removal = /of syncTerminatedPod$/;
          expect(without(ours.traces.children, removal)).toEqual(theirs.traces.children);
        });
      });

      describe('a shutdown', () => {
        test.each(['logind', 'stateFile', 'metrics', 'conditions'] as const)('%s', (aspect) => {
          expect(ours.shutdown[aspect]).toEqual(theirs.shutdown[aspect]);
        });

        test('events, but for one of a Go kubelet that collects images before it knows their disk', () => {
          expect(ours.shutdown.events).toEqual(without(theirs.shutdown.events, /InvalidDiskCapacity/));
        });

        test('the configuration of logind', () => {
          expect(ours.shutdown.logindFile).toEqual(theirs.shutdown.logindFile);
          expect(ours.shutdown.logindFile.mode).toBe(0o644);
        });

        test.each(['stubborn', 'failing', 'done', 'init', 'waiting', 'late', 'static-node1'])(
          'the last status of the pod %s',
          (name) => {
            expect(ours.shutdown.statuses[name]).toEqual(theirs.shutdown.statuses[name]);
          },
        );

        test.each(['web', 'job', 'critical'])(
          'the pod %s, whose container exits with 0, is Failed, where a Go kubelet reports success',
          (name) => {
            expect(theirs.shutdown.statuses[name]).toMatchObject({ phase: 'Succeeded' });
            expect(theirs.shutdown.statuses[name]).not.toHaveProperty('reason');
            expect(ours.shutdown.statuses[name]).toMatchObject({
              phase: 'Failed',
              reason: 'Terminated',
              message: 'Pod was terminated in response to imminent node shutdown.',
              containerStatuses: (theirs.shutdown.statuses[name] as Record<string, unknown>)[
                'containerStatuses'
              ],
            });
          },
        );
      });
    });
  },
);
