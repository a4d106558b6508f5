// CSI volumes look as with a Go kubelet: the same pods run on this kubelet and on the one that PEER_KUBELET names, and all that
// drivers, the disk and clients of the API server see of them is compared. A node also changes between both under running pods.
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test } from 'vitest';
import { slowness } from './rig/wait.ts';
import { csiUnavailableReason } from './support/csi-driver.ts';
import { describeOnCsiNode } from './support/csi-node.ts';
import { comparable, type Shown, showCsi } from './support/csi-peer-compare.ts';
import { startCsiPeerNode } from './support/csi-peer-node.ts';
import { CsiTakeover } from './support/csi-takeover.ts';

const peer = process.env['PEER_KUBELET'];
const skipReason = peer === undefined ? 'PEER_KUBELET is not set' : csiUnavailableReason();
const scenarioMs = 600_000 * slowness;

/** What is compared when: what happens in the background, such as events, is complete in the end. */
const compared = {
  run: ['disk', 'node', 'statuses', 'volumeCounts'],
  expand: ['statuses'],
  recover: ['disk', 'statuses'],
  refuse: ['statuses'],
  removed: ['calls', 'disk', 'node', 'attachments', 'claims', 'events', 'metrics', 'volumeCounts'],
} as const;
const cases = Object.entries(compared).flatMap(([moment, aspects]) =>
  aspects.map((aspect) => [moment as keyof typeof compared, aspect] as const),
);

describe.skipIf(skipReason !== undefined)(
  skipReason === undefined ? `Go kubelet ${peer}` : `Go kubelet (skipped: ${skipReason})`,
  () => {
    describeOnCsiNode('CSI volumes', () => {
      let theirs: Shown;
      let ours: Shown;
      beforeAll(async () => {
        [theirs, ours] = await Promise.all([showCsi(peer), showCsi(undefined)]);
      }, scenarioMs);

      test.each(cases)('look the same after %s: %s', (moment, aspect) => {
        expect(comparable(ours, moment, aspect)).toEqual(comparable(theirs, moment, aspect));
      });

      test('report the same usage', () => {
        expect(ours.usage).toEqual(theirs.usage);
      });

      test('this kubelet makes one call for a volume at a time, and none that no kubelet should make', () => {
        expect(ours.removed.violations).toEqual([]);
      });

      test('this kubelet requests capabilities once per connection', () => {
        const count = (shown: Shown): number => shown.removed.counts['NodeGetCapabilities'] ?? 0;
        expect(count(ours)).toBeLessThan(count(theirs) / 10);
      });
    });

    describeOnCsiNode('CSI volumes at a take-over', () => {
      let takeover: CsiTakeover;
      beforeAll(async () => {
        takeover = new CsiTakeover(await startCsiPeerNode(peer));
        for (const name of ['one', 'two', 'three', 'four']) await takeover.create(name);
      }, scenarioMs);
      afterAll(() => takeover.node.stop());
      beforeEach(() => onTestFailed(() => console.error(takeover.node.describe())));

      test('to this kubelet after a kill, pods and mounts stay; a pod ends without a trace', async () => {
        await takeover.change('kill9', undefined);
        await takeover.end('one');
      });

      test('to the Go kubelet, pods and mounts stay; a pod ends without a trace', async () => {
        await takeover.change('stop', peer);
        await takeover.end('two');
      });

      test('a pod that ends while the Go kubelet is replaced leaves nothing', async () => {
        await takeover.endDuringChange('three', undefined);
      });

      test('to the Go kubelet after a kill, and back', async () => {
        await takeover.change('kill9', peer);
        await takeover.change('stop', undefined);
      });

      test('a pod that ends while this kubelet is replaced leaves nothing, nor do all of them', async () => {
        await takeover.endDuringChange('four', peer);
        await takeover.node.csi.untilNoLeftovers();
        expect(takeover.violations()).toEqual([]);
      });
    });
  },
);
