// Proofs of the fields about logs: of containers, and of the kubelet.
import { expect } from 'vitest';
import { aContainer } from '../../../builders/builders.ts';
import type { FakeNode } from '../../../simulate/fake-node.ts';
import { type Proofs, runPod, seconds, startLive } from './rig.ts';

const MiB = 1024 * 1024;
const pathOf = (name: string): string => `/var/log/pods/default_p-n_uid-p/${name}/0.log`;
const reopened = (node: FakeNode): number =>
  node.calls().filter((each) => each === 'ReopenContainerLog').length;

/** A pod with a container of each name. */
async function start(
  config: Parameters<typeof startLive>[0],
  names: readonly string[] = ['c'],
): Promise<FakeNode> {
  const node = await startLive(config);
  await runPod(node, 'p', { containers: names.map((name) => aContainer({ name })) });
  await node.clock.advance(5_000);
  return node;
}

async function fill(node: FakeNode, times: number): Promise<void> {
  for (let at = 0; at < times; at++) {
    node.logFiles.write(pathOf('c'), 10 * MiB);
    await node.clock.advance(3_000);
  }
}

export const logProofs: Proofs = {
  containerLogMaxSize: async () => {
    const node = await start({ containerLogMaxSize: '-1' });
    node.logFiles.write(pathOf('c'), 50 * MiB);
    await node.clock.advance(60_000);
    expect(reopened(node)).toBe(0);
    // Nothing is written any more: the change alone has the log rotated.
    node.reconfigure({ containerLogMaxSize: '20Mi' });
    await node.clock.advance(1_000);
    expect(reopened(node)).toBe(1);
    node.reconfigure({ containerLogMaxSize: '-1' });
    node.logFiles.write(pathOf('c'), 50 * MiB);
    await node.clock.advance(60_000);
    expect(reopened(node)).toBe(1);
  },
  containerLogMaxFiles: async () => {
    const node = await start({});
    await fill(node, 6);
    expect(node.logFiles.names(pathOf('c'))).toHaveLength(5);
    node.reconfigure({ containerLogMaxFiles: 2 });
    await fill(node, 1);
    expect(node.logFiles.names(pathOf('c'))).toHaveLength(2);
  },
  containerLogMaxWorkers: async () => {
    const node = await start({}, ['c', 'd', 'e']);
    let compressing = 0;
    node.logFiles.compression = () => new Promise(() => compressing++);
    const rotateTwice = async (name: string): Promise<void> => {
      for (let at = 0; at < 2; at++) {
        node.logFiles.write(pathOf(name), 10 * MiB);
        await node.clock.advance(15_000);
      }
    };
    for (const name of ['c', 'd']) await rotateTwice(name);
    expect(compressing).toBe(1);
    node.reconfigure({ containerLogMaxWorkers: 3 });
    await rotateTwice('e');
    expect(compressing).toBe(3);
  },
  containerLogMonitorInterval: async () => {
    const node = await start({ containerLogMonitorInterval: seconds(600) });
    await node.clock.advance(10_000);
    const reads = async (): Promise<number> => {
      const before = node.logFiles.stats;
      await node.clock.advance(60_000);
      return node.logFiles.stats - before;
    };
    expect(await reads()).toBe(0);
    node.reconfigure({ containerLogMonitorInterval: seconds(5) });
    await node.clock.advance(5_000);
    expect(await reads()).toBe(12);
  },
  'logging.verbosity': async () => {
    const node = await startLive();
    const { logging } = node.live.current();
    expect(node.verbosity.level).toBe(2);
    node.reconfigure({ logging: { ...logging, verbosity: 4 } });
    await node.clock.advance(0);
    expect(node.verbosity.level).toBe(4);
    node.log.length = 0;
    await runPod(node, 'p');
    node.verbosity.set(2);
    const verbose = node.log.length;
    node.log.length = 0;
    await runPod(node, 'q');
    expect(verbose).toBeGreaterThan(node.log.length);
  },
};
