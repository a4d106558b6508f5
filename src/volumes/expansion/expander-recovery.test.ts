// Failures in between: the API server, the driver, the user and the kubelet itself.
import { describe, expect, test } from 'vitest';
import {
  aClaim,
  aPendingClaim,
  aPersistentVolume,
  ExpansionRig,
  expandError,
} from '../../../test/builders/expansion-rig.ts';
import { Aborted, KubeletError } from '../../base/errors.ts';

const away = new KubeletError('unavailable', 'Unavailable', 'connection refused');
const online = { isMounted: true };

/** A mounted volume of 1G that is to have 2G. */
async function mountedRig(): Promise<ExpansionRig> {
  const rig = new ExpansionRig(aClaim({ requested: '1G' }), aPersistentVolume('1G'));
  await rig.mount();
  rig.claim = aPendingClaim({ conditions: [] });
  rig.volume = aPersistentVolume();
  return rig;
}

/** Rejects the nth patch, counted from 1, once. */
function failPatch(rig: ExpansionRig, nth: number, err: Error): void {
  rig.onPatch = () => (rig.patches.length === nth ? Promise.reject(err) : undefined);
}

describe('the API server is unreachable', () => {
  const expectFailure = async (rig: ExpansionRig, why: string): Promise<void> => {
    expect(await rig.expand(online)).toMatchObject({ kind: 'failed' });
    expect(rig.events.at(-1)).toBe(
      `p Warning VolumeResizeFailed NodeExpandVolume.NodeExpandVolume failed for volume "pv" : ${why}`,
    );
  };

  test('when the claim is read: the driver is not called', async () => {
    const rig = await mountedRig();
    rig.onRead = () => Promise.reject(away);
    await expectFailure(rig, 'mountVolume.NodeExpandVolume get PVC failed : connection refused');
    expect(rig.sizes).toEqual([]);
  });

  test('when the start is recorded: the driver is not called', async () => {
    const rig = await mountedRig();
    failPatch(rig, 1, away);
    await expectFailure(rig, 'patchPVCStatus failed to patch PVC "claim": connection refused');
    expect(rig.sizes).toEqual([]);
  });

  test('when the end is recorded: the expansion is repeated until it is recorded', async () => {
    const rig = await mountedRig();
    failPatch(rig, 2, away);
    await expectFailure(
      rig,
      'mountVolume.NodeExpandVolume update pvc status failed: patchPVCStatus failed to patch PVC "claim": connection refused',
    );
    expect(rig.summary()).toBe('1G NodeResizeInProgress');
    await rig.clock.advance(500);
    expect(await rig.expand(online)).toMatchObject({ kind: 'expanded' });
    expect([rig.sizes.length, rig.summary()]).toEqual([2, '2G -']);
  });

  test('when the end of an expansion by an old resizer is recorded', async () => {
    const rig = await mountedRig();
    rig.claim = aClaim();
    failPatch(rig, 1, away);
    await expectFailure(
      rig,
      'mountVolume.NodeExpandVolume update PVC status failed : patchPVCStatus failed to patch PVC "claim": connection refused',
    );
  });

  test('when a failure is recorded: the failure of the driver is reported', async () => {
    const rig = await mountedRig();
    rig.answer = () => Promise.reject(expandError('infeasible', 'too large'));
    failPatch(rig, 2, away);
    await expectFailure(rig, 'too large');
    expect(rig.summary()).toBe('1G NodeResizeInProgress');
  });

  test('without an answer: after 30 seconds', async () => {
    const rig = await mountedRig();
    rig.onRead = () => new Promise(() => undefined);
    expect(await rig.clock.until(rig.expand(online))).toMatchObject({ kind: 'failed' });
    expect(rig.clock.monotonic()).toBe(30_000);
  });
});

describe('the claim changes meanwhile', () => {
  test('before the start is recorded: the claim is read again, the driver is called once', async () => {
    const rig = await mountedRig();
    rig.onPatch = () => (rig.patches.length === 1 ? rig.change({}) : undefined);
    expect(await rig.expand(online)).toMatchObject({ kind: 'expanded' });
    expect([rig.reads, rig.sizes.length, rig.summary()]).toEqual([2, 1, '2G -']);
  });

  test('before the start is recorded, so that there is nothing to do any more', async () => {
    const rig = await mountedRig();
    rig.onPatch = () => rig.change({ allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' } });
    expect(await rig.expand(online)).toEqual({ kind: 'unchanged' });
    expect(rig.sizes).toEqual([]);
  });

  test('again and again: the attempt ends after three tries', async () => {
    const rig = await mountedRig();
    rig.onPatch = () => rig.change({});
    expect(await rig.expand(online)).toMatchObject({ kind: 'failed' });
    expect([rig.patches.length, rig.sizes]).toEqual([3, []]);
  });

  test('before the end is recorded: the driver is not called again', async () => {
    const rig = await mountedRig();
    rig.onPatch = () =>
      rig.patches.length === 2 ? rig.change({}, { resources: { requests: { storage: '3G' } } }) : undefined;
    expect(await rig.expand(online)).toMatchObject({ kind: 'expanded' });
    expect([rig.sizes.length, rig.summary()]).toEqual([1, '2G -']);
  });

  test('before the end is recorded: another node has recorded it', async () => {
    const rig = await mountedRig();
    rig.onPatch = () => {
      if (rig.patches.length === 2)
        rig.change({ capacity: { storage: '2G' }, allocatedResourceStatuses: {} });
    };
    expect(await rig.expand(online)).toMatchObject({ kind: 'expanded' });
    expect(rig.patches).toHaveLength(2);
  });

  test('before the end is recorded: the claim tracks another size, which is not overwritten', async () => {
    const rig = await mountedRig();
    rig.onPatch = () => {
      if (rig.patches.length === 2) rig.change({ allocatedResources: { storage: '3G' } });
    };
    expect(await rig.expand(online)).toMatchObject({ kind: 'failed' });
    expect(rig.summary()).toBe('1G NodeResizeInProgress');
  });

  test('before a failure is recorded: it is recorded nevertheless', async () => {
    const rig = await mountedRig();
    rig.answer = () => {
      rig.change({});
      return Promise.reject(expandError('infeasible'));
    };
    await rig.expand(online);
    expect(rig.summary()).toBe('1G NodeResizeInfeasible NodeResizeError');
  });

  test('into another claim of the same name, which is left alone', async () => {
    const rig = await mountedRig();
    rig.onRead = () => {
      rig.claim = { ...rig.claim, metadata: { ...rig.claim.metadata, uid: 'uid-other' } };
    };
    expect(await rig.expand(online)).toEqual({ kind: 'unchanged' });
    expect([rig.sizes, rig.patches]).toEqual([[], []]);
  });
});

describe('the user changes the request after a failure', () => {
  test('the next failure ends the expansion, so that the controller continues with the new request', async () => {
    const rig = await mountedRig();
    rig.answer = () => Promise.reject(expandError('final'));
    await rig.expand(online);
    expect(rig.summary()).toBe('1G NodeResizeInProgress NodeResizeError');
    rig.change({}, { resources: { requests: { storage: '1500M' } } });
    await rig.clock.advance(500);
    await rig.expand(online);
    expect(rig.summary()).toBe('1G NodeResizeInfeasible NodeResizeError');

    rig.change({
      allocatedResources: { storage: '1500M' },
      allocatedResourceStatuses: { storage: 'NodeResizePending' },
    });
    rig.answer = () => Promise.resolve();
    await rig.clock.advance(60_000);
    expect(await rig.expand(online)).toMatchObject({ kind: 'expanded' });
    expect([rig.sizes.at(-1), rig.summary()]).toEqual([1_500_000_000n, '1500M -']);
  });

  test('an uncertain failure does not count', async () => {
    const rig = await mountedRig();
    rig.answer = () => Promise.reject(expandError('uncertain'));
    await rig.expand(online);
    rig.change({}, { resources: { requests: { storage: '1500M' } } });
    await rig.clock.advance(500);
    rig.answer = () => Promise.reject(expandError('final'));
    await rig.expand(online);
    expect(rig.summary()).toBe('1G NodeResizeInProgress NodeResizeError');
  });

  test('a success ends what earlier failures mean', async () => {
    const rig = await mountedRig();
    rig.answer = () => Promise.reject(expandError('final'));
    await rig.expand(online);
    rig.answer = () => Promise.resolve();
    await rig.clock.advance(500);
    await rig.expand(online);
    rig.volume = aPersistentVolume('3G');
    rig.claim = aPendingClaim({ allocated: '3G', capacity: '2G', requested: '4G' });
    rig.answer = () => Promise.reject(expandError('final'));
    await rig.expand(online);
    expect(rig.summary()).toContain('2G NodeResizeInProgress');
  });
});

describe('the kubelet restarts', () => {
  test('after the start was recorded: set-up completes the expansion', async () => {
    const rig = new ExpansionRig();
    const life = new AbortController();
    rig.answer = () => new Promise(() => undefined);
    const killed = rig.expand({}, life.signal);
    await rig.clock.settle();
    life.abort(new Aborted('stop'));
    await expect(killed).rejects.toThrow('stop');
    expect([rig.summary(), rig.events]).toEqual(['1G NodeResizeInProgress FileSystemResizePending', []]);

    rig.restart();
    rig.answer = () => Promise.resolve();
    expect(await rig.mount()).toMatchObject({ kind: 'expanded' });
    expect(rig.summary()).toBe('2G -');
  });

  test('after the driver was done: it is called once more', async () => {
    const rig = new ExpansionRig();
    failPatch(rig, 2, away);
    expect(await rig.mount()).toMatchObject({ kind: 'failed' });
    rig.restart();
    expect(await rig.mount()).toMatchObject({ kind: 'expanded' });
    expect([rig.sizes.length, rig.summary()]).toEqual([2, '2G -']);
  });

  test('an update before any set-up starts with the size of the claim', async () => {
    const rig = await mountedRig();
    rig.restart();
    expect(await rig.expand(online)).toMatchObject({ kind: 'expanded' });
  });
});

describe('a driver that expands no volume in use', () => {
  test('is not called again before the size changes', async () => {
    const rig = await mountedRig();
    rig.answer = () => Promise.reject(expandError('precondition'));
    await rig.expand(online);
    await rig.clock.advance(3_600_000);
    expect(await rig.expand(online)).toEqual({ kind: 'unchanged' });
    expect(rig.expander.isDue(rig.request(online))).toBe(false);
    expect([rig.sizes.length, rig.events]).toEqual([1, []]);

    rig.volume = aPersistentVolume('3G');
    rig.claim = aPendingClaim({ allocated: '3G' });
    await rig.expand(online);
    expect(rig.sizes).toEqual([2_000_000_000n, 3_000_000_000n]);
  });

  test('is called again by the next set-up', async () => {
    const rig = await mountedRig();
    rig.answer = () => Promise.reject(expandError('precondition'));
    await rig.expand(online);
    rig.users.clear();
    rig.answer = () => Promise.resolve();
    expect(await rig.mount()).toMatchObject({ kind: 'expanded' });
  });
});

describe('backoff of a mounted volume', () => {
  test('doubles from half a second to 122 seconds, and a success ends it', async () => {
    const rig = await mountedRig();
    rig.answer = () => Promise.reject(expandError('uncertain'));
    const delays: number[] = [];
    for (let tries = 0; tries < 10; tries++) {
      await rig.expand(online);
      const before = rig.clock.monotonic();
      while (!rig.expander.isDue(rig.request(online))) await rig.clock.advance(500);
      delays.push(rig.clock.monotonic() - before);
    }
    expect(delays).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 122_000, 122_000]);
    rig.answer = () => Promise.resolve();
    expect(await rig.expand(online)).toMatchObject({ kind: 'expanded' });
  });

  test('does not delay the set-up of another pod', async () => {
    const rig = await mountedRig();
    rig.answer = () => Promise.reject(expandError('uncertain'));
    await rig.expand(online);
    expect(await rig.expand(online)).toEqual({ kind: 'unchanged' });
    rig.answer = () => Promise.resolve();
    expect(await rig.mount('q')).toMatchObject({ kind: 'expanded' });
  });
});

describe('two pods share a claim', () => {
  test('their expansions run one at a time, and the second finds the work done', async () => {
    const rig = new ExpansionRig();
    let inFlight = 0;
    rig.answer = async () => {
      expect(++inFlight).toBe(1);
      await rig.clock.sleep(1_000);
      inFlight -= 1;
    };
    const both = Promise.all([rig.expand({ pod: 'p' }), rig.expand({ pod: 'q' })]);
    expect((await rig.clock.until(both)).map(({ kind }) => kind)).toEqual(['expanded', 'unchanged']);
    expect([rig.sizes.length, rig.events.length]).toEqual([1, 2]);
  });

  test('while mounted, a failure is reported once per attempt', async () => {
    const rig = await mountedRig();
    await rig.mount('q');
    rig.claim = aPendingClaim({ capacity: '2G', allocated: '3G' });
    rig.volume = aPersistentVolume('3G');
    rig.events.length = 0;
    rig.sizes.length = 0;
    rig.answer = () => Promise.reject(expandError('uncertain'));
    await Promise.all([rig.expand({ pod: 'p', ...online }), rig.expand({ pod: 'q', ...online })]);
    expect([rig.sizes.length, rig.events.length]).toEqual([1, 1]);
  });

  test('a pod that gives up does not delay the other', async () => {
    const rig = new ExpansionRig();
    const life = new AbortController();
    rig.answer = ({ pod }) => (pod.metadata?.name === 'p' ? new Promise(() => undefined) : Promise.resolve());
    const first = rig.expand({ pod: 'p' }, life.signal);
    const second = rig.expand({ pod: 'q' });
    await rig.clock.settle();
    expect(rig.sizes).toHaveLength(1);
    life.abort(new Aborted('stop'));
    await expect(first).rejects.toThrow('stop');
    expect(await second).toMatchObject({ kind: 'expanded' });
  });

  test('a shared volume that another node expanded is expanded here too, although a second pod came later', async () => {
    const modes = ['ReadWriteMany'];
    const rig = new ExpansionRig(aClaim({ requested: '1G', modes }), aPersistentVolume('1G'));
    await rig.mount('p');
    rig.volume = aPersistentVolume();
    rig.claim = aClaim({ modes, capacity: '2G', allocated: '2G' });
    expect(await rig.mount('q')).toEqual({ kind: 'unchanged' });
    expect(await rig.expand({ pod: 'p', ...online })).toMatchObject({ kind: 'expanded' });
    expect(rig.patches).toEqual([]);
  });
});
