// Rotation of container logs by a whole kubelet on the fake runtime, with logs in memory and the fake clock.
import { afterEach, describe, expect, test } from 'vitest';
import { KubeletError } from '../../../src/base/errors.ts';
import type { KubeletConfiguration } from '../../../src/config/table/kubelet-configuration.ts';
import { aContainer, aPod } from '../../builders/builders.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

const MiB = 1024 * 1024;
const limit = 10 * MiB;
let node: FakeNode;
afterEach(async () => await node.stop());

async function start(
  config: Partial<KubeletConfiguration> = {},
  names: readonly string[] = ['c'],
): Promise<void> {
  node = new FakeNode({ config });
  await node.start();
  node.write('p.yaml', aPod({ containers: names.map((name) => aContainer({ name })) }));
  await node.clock.advance(5_000);
}

const pathOf = (name = 'c'): string => `/var/log/pods/default_p-n_uid-p/${name}/0.log`;
const sizeOf = (name = 'c'): number => node.logFiles.files.get(pathOf(name))?.bytes ?? 0;
const reopened = (): number => node.calls().filter((each) => each === 'ReopenContainerLog').length;
const failure = new KubeletError('unavailable', 'UNAVAILABLE', 'no answer');

/** Writes for this time; returns the largest size of the current file. */
async function write(bytesPerMs: number, forMs: number, name = 'c'): Promise<number> {
  let largest = 0;
  for (let ms = 0; ms < forMs; ms += 5) {
    node.logFiles.write(pathOf(name), bytesPerMs * 5);
    largest = Math.max(largest, sizeOf(name));
    await node.clock.advance(5);
  }
  return largest;
}

describe('rotation', () => {
  test('keeps a container that writes 50 MB/s below twice the limit, with maxFiles files', async () => {
    await start();
    expect(await write(50_000, 3_000)).toBeLessThan(1.5 * limit);
    expect(reopened()).toBeGreaterThan(10);
    expect(node.logFiles.names(pathOf())).toHaveLength(5);
    await node.clock.advance(10_000);
    const names = node.logFiles.names(pathOf());
    expect(names).toHaveLength(5);
    expect(names.filter((name) => name.endsWith('.gz'))).toHaveLength(3);
    expect(names.at(-1)?.endsWith('.gz')).toBe(false);
  });

  test('catches a burst after a silence and after a trickle', async () => {
    await start();
    await node.clock.advance(60_000);
    expect(await write(50_000, 600)).toBeLessThan(1.5 * limit);
    for (let i = 0; i < 50; i++) {
      node.logFiles.write(pathOf(), 100);
      await node.clock.advance(100);
    }
    expect(await write(50_000, 600)).toBeLessThan(1.7 * limit);
  });

  test('reads no size while nothing is written', async () => {
    await start();
    await node.clock.advance(5_000);
    const before = node.logFiles.stats;
    await node.clock.advance(60_000);
    // One per monitor interval, in case an event was lost.
    expect(node.logFiles.stats - before).toBeLessThanOrEqual(6);
  });

  test('reads sizes every second if writes are not notified', async () => {
    node = new FakeNode();
    node.logFiles.canWatch = false;
    await node.start();
    node.write('p.yaml', aPod());
    await node.clock.advance(5_000);
    const before = node.logFiles.stats;
    await node.clock.advance(60_000);
    expect(node.logFiles.stats - before).toBeLessThan(150);
    node.logFiles.write(pathOf(), limit);
    await node.clock.advance(1_000);
    expect(reopened()).toBe(1);
  });

  test('is off if containerLogMaxSize is negative', async () => {
    await start({ containerLogMaxSize: '-1' });
    await write(50_000, 1_000);
    expect(reopened()).toBe(0);
  });

  test('rotates a log with any content if containerLogMaxSize is 0', async () => {
    await start({ containerLogMaxSize: '0' });
    await node.clock.advance(60_000);
    expect(reopened()).toBe(0);
    node.logFiles.write(pathOf(), 1);
    await node.clock.advance(1_000);
    expect(reopened()).toBe(1);
  });

  test('restores the log if the runtime fails to reopen it, warns once and tries again', async () => {
    await start();
    const rule = node.cri.faults.fail('reopenContainerLog', failure, { times: Number.POSITIVE_INFINITY });
    node.logFiles.write(pathOf(), limit);
    await node.clock.advance(30_000);
    expect(node.logFiles.names(pathOf())).toEqual(['0.log']);
    expect(sizeOf()).toBe(limit);
    expect(node.logged('Failed to rotate container log')).toHaveLength(1);
    rule.remove();
    await node.clock.advance(10_000);
    expect(node.logFiles.names(pathOf())).toHaveLength(2);
    expect(sizeOf()).toBe(0);
  });

  test('keeps the new file if the response of the runtime was lost', async () => {
    await start();
    node.cri.faults.fail('reopenContainerLog', failure, { when: 'after' });
    node.logFiles.write(pathOf(), limit);
    await node.clock.advance(200);
    node.logFiles.write(pathOf(), 7);
    await node.clock.advance(5_000);
    expect(sizeOf()).toBe(7);
    expect(node.logFiles.names(pathOf())).toHaveLength(2);
  });

  test('continues for other containers while the runtime hangs for one', async () => {
    await start({}, ['a', 'b']);
    const { id } = node.cri.container('a');
    const stall = node.cri.faults.stall('reopenContainerLog', {
      times: Number.POSITIVE_INFINITY,
      match: ({ containerId }) => containerId === id,
    });
    node.logFiles.write(pathOf('a'), limit);
    await node.clock.advance(100);
    expect(stall.waiting).toBe(1);
    expect(await write(50_000, 3_000, 'b')).toBeLessThan(2 * limit);
    // The call times out, and the log gets its name back.
    await node.clock.advance(7_200);
    expect(node.logFiles.names(pathOf('a'))).toEqual(['0.log']);
    stall.release();
    await node.clock.advance(10_000);
    expect(node.logFiles.names(pathOf('a'))).toHaveLength(2);
  });

  test('reopens a log that a killed kubelet left renamed', async () => {
    await start();
    const stall = node.cri.faults.stall('reopenContainerLog');
    node.logFiles.write(pathOf(), limit);
    await node.clock.advance(100);
    expect(stall.waiting).toBe(1);
    // It dies before it can undo the rename.
    node.logFiles.before = (operation) => {
      if (operation === 'move') throw new Error('killed');
    };
    await node.kill();
    stall.release();
    node.logFiles.before = () => undefined;
    expect(node.logFiles.files.has(pathOf())).toBe(false);
    node.logFiles.write(pathOf(), 5);
    await node.start();
    await node.clock.advance(2_000);
    const [live, rotated] = node.logFiles.names(pathOf());
    expect([live, sizeOf()]).toEqual(['0.log', 0]);
    expect(node.logFiles.files.get(pathOf().replace('0.log', rotated ?? ''))?.bytes).toBe(limit + 5);
  });

  test('does not rotate the log of a container that has exited', async () => {
    await start();
    await node.stop();
    node.cri.exitContainer('c', 0);
    node.logFiles.write(pathOf(), 2 * limit);
    await node.start();
    await node.clock.advance(1_000);
    expect(reopened()).toBe(0);
    expect(node.logFiles.names(pathOf())).toContain('0.log');
  });

  test('rotates although an old file cannot be removed or compressed', async () => {
    await start({ containerLogMaxFiles: 3 });
    node.logFiles.before = (operation) => {
      if (operation === 'remove' || operation === 'compress') throw new Error('read-only');
    };
    for (let i = 0; i < 5; i++) {
      node.logFiles.write(pathOf(), limit);
      await node.clock.advance(2_000);
    }
    expect(reopened()).toBe(5);
    expect(sizeOf()).toBe(0);
    expect(node.log.filter((line) => line.includes('Failed to') && line.includes('log')).length).toBeLessThan(
      7,
    );
    node.logFiles.before = () => undefined;
    node.logFiles.write(pathOf(), limit);
    await node.clock.advance(60_000);
    expect(node.logFiles.names(pathOf())).toHaveLength(3);
  });
});
