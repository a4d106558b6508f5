import { beforeEach, describe, expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { Node } from '../../api/k8s/types.ts';
import type { EventText } from '../../api/ports/events.ts';
import { Channel } from '../../base/channel.ts';
import { silentLogger } from '../../base/log/log.ts';
import { ReportedError } from '../mount-failure.ts';
import type { AttachFailure, VolumeSpec } from '../plugin.ts';
import { PodMounts } from '../pod-mounts.ts';
import { NodeAttachments } from './node-attachments.ts';
import { untilAttached, untilAvailable, type WaitDeps } from './wait-for-volume.ts';

const name = 'kubernetes.io/csi/d^a';
const spec: VolumeSpec = {
  name: 'v',
  directoryName: 'pv',
  source: {},
  readOnly: false,
  mountOptions: [],
  persistent: undefined,
  isBlock: false,
};
const nodeChanged = new Channel<void>();
const driverChanged = new Channel<string>();
describe('a volume that waits', () => {
  let node: Node;
  let clock: FakeClock;
  let events: EventText[];
  let mounts: PodMounts;
  let deps: WaitDeps;
  let missing: string | undefined;
  let failure: AttachFailure | undefined;
  let asked: number;
  let attachName: string | undefined;

  const plugin = {
    prerequisite: { missing: () => missing, changed: driverChanged },
    attachName: () => attachName,
    attachment: {
      failure: async () => {
        asked += 1;
        return failure;
      },
    },
  };

  function attachmentsOf(byController: boolean): NodeAttachments {
    return new NodeAttachments({ ownNode: { get: () => node, changed: nodeChanged }, byController });
  }

  function attach(): void {
    node = { status: { volumesAttached: [{ name, devicePath: '/dev/x' }] } };
    nodeChanged.push();
  }

  /** The outcome so far. */
  function watch(work: Promise<unknown>): { now: () => unknown } {
    let outcome: unknown = 'waiting';
    work.then(
      (value) => (outcome = ['done', value]),
      (err: unknown) => (outcome = err),
    );
    return { now: () => outcome };
  }

  beforeEach(() => {
    node = {};
    clock = new FakeClock(0);
    events = [];
    missing = undefined;
    failure = undefined;
    asked = 0;
    attachName = name;
    mounts = new PodMounts(aPod({ uid: 'u' }), clock, {
      onRetry: () => undefined,
      onResolved: () => undefined,
    });
    deps = {
      attachments: attachmentsOf(true),
      events: { pod: (_, event) => void events.push(event), node: () => undefined },
      clock,
      log: silentLogger,
    };
  });

  test('a volume waits for its driver, reports it, and proceeds when it registers', async () => {
    missing = 'the CSI driver d to register';
    const waiting = watch(mounts.attempt('v', () => untilAvailable(deps, mounts, plugin, spec)));
    await clock.advance(9_000);
    expect(events).toEqual([]);
    expect(mounts.activities().map(({ what }) => what)).toEqual([
      'volume v waits for the CSI driver d to register',
    ]);
    await clock.advance(1_000);
    const event = {
      type: 'Warning',
      reason: 'FailedMount',
      message: 'volume "v" waits for the CSI driver d to register',
    };
    expect(events).toEqual([event]);
    await clock.advance(119_000);
    expect(events).toHaveLength(1);
    await clock.advance(1_000);
    expect(events).toHaveLength(2);
    driverChanged.push('other');
    await clock.advance(0);
    expect(waiting.now()).toBe('waiting');
    missing = undefined;
    driverChanged.push('d');
    await clock.advance(0);
    expect(waiting.now()).toEqual(['done', undefined]);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('the end of the pod ends the wait', async () => {
    missing = 'the CSI driver d to register';
    const waiting = watch(untilAvailable(deps, mounts, plugin, spec));
    await clock.advance(0);
    await mounts.close(0);
    await clock.advance(0);
    expect(waiting.now()).toBeInstanceOf(Error);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('a volume waits until its use was reported and the controller has attached it', async () => {
    const waiting = watch(
      mounts.attempt('v', async () => void (await untilAttached(deps, mounts, plugin, spec))),
    );
    const shown = (): readonly string[] => mounts.activities().map(({ what }) => what);
    await clock.advance(0);
    expect(shown()).toEqual(['volume v waits for the node status to report it in use']);
    deps.attachments?.reported([name], node);
    await clock.advance(0);
    expect(shown()).toEqual(['volume v waits for the attach/detach controller to attach it to this node']);
    attach();
    await clock.advance(0);
    expect(waiting.now()).toEqual(['done', undefined]);
    expect(asked).toBe(0);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('returns the device path of an attached volume, and undefined for one that needs no attaching', async () => {
    attach();
    deps.attachments?.reported([name], node);
    expect(await untilAttached(deps, mounts, plugin, spec)).toBe('/dev/x');
    attachName = undefined;
    expect(await untilAttached(deps, mounts, plugin, spec)).toBeUndefined();
    expect(await untilAttached({ ...deps, attachments: undefined }, mounts, plugin, spec)).toBeUndefined();
  });

  test('a driver that turns out to need no attaching ends the wait', async () => {
    const waiting = watch(untilAttached(deps, mounts, plugin, spec));
    await clock.advance(0);
    attachName = undefined;
    driverChanged.push('d');
    await clock.advance(0);
    expect(waiting.now()).toEqual(['done', undefined]);
  });

  test('the reason of the controller is read after 10 s and shown', async () => {
    failure = { message: 'disk is broken', isLimit: false };
    deps.attachments?.reported([name], node);
    const waiting = watch(
      mounts.attempt('v', async () => void (await untilAttached(deps, mounts, plugin, spec))),
    );
    await clock.advance(10_000);
    expect(mounts.activities().map(({ what }) => what)).toEqual([
      'volume v waits for the attach/detach controller to attach it to this node: disk is broken',
    ]);
    await clock.advance(113_000);
    expect(asked).toBe(3);
    const given = waiting.now() as ReportedError;
    expect(given).toBeInstanceOf(ReportedError);
    expect(given.reported.event).toBeUndefined();
    expect(given.reported.failure).toMatchObject({ kind: 'timeout', reason: 'FailedMount' });
    expect(given.message).toContain('disk is broken');
  });

  test('a node at its limit of attachments rejects the pod when the wait is over', async () => {
    failure = { message: 'resource exhausted', isLimit: true };
    const waiting = watch(untilAttached(deps, mounts, plugin, spec));
    await clock.advance(123_000);
    expect((waiting.now() as ReportedError).reported.failure.reason).toBe('VolumeAttachmentLimitExceeded');
  });

  test('a kubelet that attaches itself refuses the kinds that it cannot attach', async () => {
    deps = { ...deps, attachments: attachmentsOf(false) };
    await expect(untilAttached(deps, mounts, plugin, spec)).rejects.toThrow(
      'attaching volumes from the kubelet is not supported',
    );
    const { attachment: _, ...capable } = plugin;
    expect(await untilAttached(deps, mounts, capable, spec)).toBeUndefined();
  });
});
