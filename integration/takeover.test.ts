// A node changes kubelets: the successor adopts every pod, volume and record of its predecessor. The state that a Go kubelet
// v1.34 and the previous version of this kubelet leave is recreated on a real containerd; PEER_KUBELET names a Go kubelet that
// takes part itself, in both directions.
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test } from 'vitest';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { prepareTakeover, type TakeoverNode } from './support/takeover-node.ts';
import { leaveAsPrevious, leaveAsV134 } from './support/takeover-state.ts';

const peer = process.env['PEER_KUBELET'];

/** A node for the tests of a suite; `command` is its first kubelet, by default this one in place of a v1.34. */
function useTakeover(command?: string): () => TakeoverNode {
  let node: TakeoverNode;
  beforeAll(async () => {
    node = await prepareTakeover(command);
    await node.start(command === undefined);
  });
  afterAll(() => node.stop());
  beforeEach(() => onTestFailed(() => console.error(node.describe())));
  return () => node;
}

function testManaged(node: () => TakeoverNode): void {
  test('the adopted pods are managed, and removed without a trace', async () => {
    await node().expectManaged();
    await node().expectRemoved();
  });
}

const recreated: readonly (readonly [string, 'stop' | 'kill9', (kubelet: Kubelet) => void])[] = [
  ['a Go kubelet v1.34 that was stopped', 'stop', leaveAsV134],
  ['a Go kubelet v1.34 that was killed', 'kill9', leaveAsV134],
  ['the previous version that was killed', 'kill9', leaveAsPrevious],
];
describeOnRig('take-over', () => {
  const node = useTakeover();
  test.each(recreated)(
    'from %s restarts nothing, changes no readiness and loses no record',
    async (_, end, recreate) => {
      await node().withoutTransition(async () => {
        expect(await node().replace(end, { recreate })).toEqual([]);
      });
    },
  );
  testManaged(node);
});

const skipReason = peer === undefined ? 'PEER_KUBELET is not set' : undefined;
describe.skipIf(skipReason !== undefined)(
  skipReason === undefined ? `Go kubelet ${peer}` : `Go kubelet (skipped: ${skipReason})`,
  () =>
    describeOnRig('take-over', () => {
      const node = useTakeover(peer);
      const unreadable = (line: string): boolean =>
        /checkpoint|corrupt/.test(line) && !/not found/.test(line);
      test('from it restarts nothing, changes no readiness and loses no record', async () => {
        await node().withoutTransition(async () => {
          expect(await node().replace('kill9', {})).toEqual([]);
        });
      });
      test('by it restarts nothing, and it can read every record', async () => {
        expect((await node().replace('stop', { command: peer ?? '' })).filter(unreadable)).toEqual([]);
      });
      test('from it again restarts nothing, changes no readiness and loses no record', async () => {
        await node().withoutTransition(async () => {
          expect(await node().replace('stop', {})).toEqual([]);
        });
      });
      testManaged(node);
    }),
);
