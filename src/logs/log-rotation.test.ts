import { beforeEach, describe, expect, test } from 'vitest';
import { anObservedContainer, anObservedPod } from '../../test/builders/builders.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { MemoryRotation } from '../../test/fakes/memory-rotation.ts';
import type { ObservedPod } from '../api/pod/observed.ts';
import { asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { silentLogger } from '../base/log/log.ts';
import { LogRotation } from './log-rotation.ts';

const path = '/logs/ns_p_uid/c/0.log';
const uid = asPodUid('uid');
const limit = 1_000;
describe('log rotation', () => {
  let clock: FakeClock;
  let files: MemoryRotation;
  let rotation: LogRotation;
  let pod: ObservedPod | undefined;
  let stop: AbortController;
  let stopped: Promise<void>;
  let reopened = 0;
  const changed = new Channel<PodUid>();

  const observe = async (state: 'running' | 'exited' | undefined, logPath = path): Promise<void> => {
    const containers = state === undefined ? [] : [anObservedContainer({ state, logPath, createdAtMs: 0 })];
    pod = anObservedPod({ uid, containers });
    changed.push(uid);
    await clock.advance(0);
  };

  beforeEach(async () => {
    clock = new FakeClock();
    files = new MemoryRotation(() => clock.now());
    stop = new AbortController();
    pod = undefined;
    reopened = 0;
    rotation = new LogRotation({
      observed: { get: () => pod, all: () => new Map(), changed },
      cri: {
        reopenContainerLog: async () => {
          reopened += 1;
          files.open(path);
          return {};
        },
      },
      host: files,
      clock,
      log: silentLogger,
      settings: {
        maxBytes: limit,
        maxFiles: 5,
        maxWorkers: 1,
        monitorIntervalMs: 10_000,
        podLogsDir: '/logs',
      },
    });
    ({ stopped } = await startComponent(rotation, stop.signal));
    return async () => {
      stop.abort();
      await stopped;
    };
  });

  /** Rotates, so that the file of the rotation before can be compressed. */
  async function fill(): Promise<void> {
    files.write(path, limit);
    await clock.advance(2_500);
  }

  /** A compression that lasts until it is aborted or finished. */
  function holdCompression(): { finish(): void; readonly isAborted: () => boolean } {
    let finish = (): void => undefined;
    let signal: AbortSignal | undefined;
    files.compression = (given) => {
      signal = given;
      return new Promise((resolve, reject) => {
        finish = resolve;
        given.addEventListener('abort', () => reject(given.reason));
      });
    };
    return { finish: () => finish(), isAborted: () => signal?.aborted === true };
  }

  test('keeps the temporary file of its own compression, and rotates meanwhile', async () => {
    files.open(path);
    await observe('running');
    await fill();
    const held = holdCompression();
    await fill();
    await fill();
    expect(reopened).toBe(3);
    files.compression = async () => undefined;
    held.finish();
    await clock.advance(1_000);
    const names = files.names(path);
    expect(names.filter((name) => name.endsWith('.gz'))).toHaveLength(2);
    expect(names).toHaveLength(4);
  });

  test('has ended a compression when the logs of its container are removed', async () => {
    files.open(path);
    await observe('running');
    await fill();
    const held = holdCompression();
    await fill();
    await observe('exited');
    await rotation.release(path);
    expect(held.isAborted()).toBe(true);
    const before = files.names(path);
    await clock.advance(60_000);
    expect(files.names(path)).toEqual(before);
    expect(before.some((name) => /\.(gz|tmp)$/.test(name))).toBe(false);
  });

  test('discards a compression of a file that was written to meanwhile', async () => {
    files.open(path);
    await observe('running');
    await fill();
    const held = holdCompression();
    await fill();
    const [, oldest = ''] = files.names(path);
    const file = files.files.get(path.replace('0.log', oldest));
    if (file !== undefined) file.changedAtMs = clock.now();
    files.compression = async () => undefined;
    held.finish();
    await clock.advance(100);
    expect(files.names(path).filter((name) => /\.(gz|tmp)$/.test(name))).toEqual([]);
    await clock.advance(2_000);
    expect(files.names(path)).toContain(`${oldest}.gz`);
  });

  test('removes the leftovers of a killed kubelet, also of a container that has exited', async () => {
    files.open(path);
    for (const name of ['20261118-130000.tmp', '20261118-130000.gz', '20261118-130000'])
      files.open(`${path}.${name}`);
    await observe('exited');
    await clock.advance(100);
    expect(files.names(path)).toEqual(['0.log', '0.log.20261118-130000.gz']);
    expect(reopened).toBe(0);
  });

  test('reopens a log that another program renamed or deleted', async () => {
    files.open(path);
    await observe('running');
    await clock.advance(5_000);
    const directory = await files.openDirectory(path);
    await directory.move('0.log', '0.log.bak');
    await clock.advance(1_000);
    expect([reopened, files.names(path)]).toEqual([1, ['0.log', '0.log.bak']]);
    await directory.remove('0.log');
    await clock.advance(20_000);
    expect(reopened).toBe(2);
  });

  test('ignores logs outside its directory, and containers that are gone', async () => {
    files.open('/elsewhere/0.log');
    await observe('running', '/elsewhere/0.log');
    files.write('/elsewhere/0.log', 10 * limit);
    await clock.advance(20_000);
    files.open(path);
    await observe('running');
    await observe(undefined);
    files.write(path, 10 * limit);
    await clock.advance(20_000);
    expect(reopened).toBe(0);
  });
});
