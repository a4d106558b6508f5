// A kubelet killed before, after and in the middle of each step of rotations, on real files with a real clock: the next kubelet
// finds every line, in order and once, and leaves no file behind.
import { closeSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { asPodUid, type PodUid } from '../../../src/api/pod/pod-ref.ts';
import { Channel } from '../../../src/base/channel.ts';
import { type Clock, realClock } from '../../../src/base/clock.ts';
import { startComponent } from '../../../src/base/component.ts';
import { silentLogger } from '../../../src/base/log/log.ts';
import { RotationFiles } from '../../../src/edge/logs/rotation-files.ts';
import { LogRotation } from '../../../src/logs/log-rotation.ts';
import type { LogDirectory, RotationHost } from '../../../src/logs/rotation-host.ts';
import { anObservedContainer, anObservedPod } from '../../builders/builders.ts';

const limitBytes = 1_000;
const uid = asPodUid('uid-p');
let root = '';
let path = '';
let log: OpenLog;

/** A runtime's end of the log: it writes to the file that it has open. */
class OpenLog {
  lines = 0;
  reopened = 0;
  #fd = openSync(path, 'a');

  write(count: number): void {
    for (let i = 0; i < count; i++) {
      const at = `2026-11-18T13:00:00.${String(this.lines).padStart(9, '0')}Z`;
      writeSync(this.#fd, `${at} stdout F line ${this.lines++}\n`);
    }
  }

  reopen(): void {
    closeSync(this.#fd);
    this.#fd = openSync(path, 'a');
    this.reopened += 1;
  }

  close(): void {
    closeSync(this.#fd);
  }
}

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'rotation-crash-'));
  path = join(root, 'pods', 'default_p_uid-p', 'c', '0.log');
  await mkdir(dirname(path), { recursive: true });
  log = new OpenLog();
});
afterEach(async () => {
  log.close();
  await rm(root, { recursive: true, force: true });
});

/** Where the kubelet is killed: nothing that it does afterwards has an effect. */
interface Crash {
  readonly step: number;
  readonly when: 'before' | 'during' | 'after';
}

/** Rotated files count as unchanged for long, and nothing waits for a second. */
const fastClock: Clock = {
  now: () => Date.now() + 5_000,
  monotonic: () => 50 * realClock.monotonic(),
  setTimer: (ms, fn) => realClock.setTimer(ms / 50, fn),
  sleep: (ms, signal) => realClock.sleep(ms / 50, signal),
};

class Killed extends Error {}

class Kubelet {
  readonly #stop = new AbortController();
  readonly #crash: Crash | undefined;
  #steps = 0;
  isDead = false;
  #stopped: Promise<void> = Promise.resolve();
  /** The steps taken, for the table. */
  readonly taken: string[] = [];

  constructor(crash?: Crash) {
    this.#crash = crash;
  }

  async start(maxFiles: number): Promise<void> {
    const container = anObservedContainer({ state: 'running', logPath: path, createdAtMs: 0 });
    const pod = anObservedPod({ uid, containers: [container] });
    const rotation = new LogRotation({
      observed: {
        get: () => pod,
        all: () => new Map([[uid, pod]]),
        changed: new Channel<PodUid>(),
      },
      cri: {
        reopenContainerLog: async () => {
          await this.#step('reopen', async () => log.reopen());
          return {};
        },
      },
      host: this.#host(),
      clock: fastClock,
      log: silentLogger,
      settings: {
        maxBytes: limitBytes,
        maxFiles,
        maxWorkers: 1,
        monitorIntervalMs: 3_000,
        podLogsDir: join(root, 'pods'),
      },
    });
    this.#stopped = (await startComponent(rotation, this.#stop.signal)).stopped;
  }

  async stop(): Promise<void> {
    this.isDead = true;
    this.#stop.abort();
    await this.#stopped;
  }

  async #step(name: string, act: () => Promise<unknown>, undo?: () => void): Promise<void> {
    if (this.isDead) throw new Killed();
    const isHere = this.#crash?.step === this.#steps++;
    this.taken.push(name);
    if (isHere && this.#crash.when === 'before') this.#die();
    await act();
    if (isHere && this.#crash.when === 'during') undo?.();
    if (isHere) this.#die();
  }

  #die(): never {
    this.isDead = true;
    throw new Killed();
  }

  #host(): RotationHost {
    const files = new RotationFiles(join(root, 'pods'));
    return {
      start: (signal) => files.start(signal),
      openLive: (of) => files.openLive(of),
      openDirectory: async (of) => {
        const directory = await files.openDirectory(of);
        return directory && this.#directory(directory);
      },
    };
  }

  #directory(directory: LogDirectory): LogDirectory {
    return {
      list: () => directory.list(),
      move: (from, to) => this.#step(`move`, () => directory.move(from, to)),
      moveBack: async (from, to) => {
        let moved = false;
        await this.#step('moveBack', async () => {
          moved = await directory.moveBack(from, to);
        });
        return moved;
      },
      remove: (name) => this.#step('remove', () => directory.remove(name)),
      compress: (from, to, signal) =>
        this.#step(
          'compress',
          () => directory.compress(from, to, signal),
          // Killed in the middle: a part is written.
          () => truncateSync(join(dirname(path), to), 20),
        ),
      close: () => directory.close(),
    };
  }
}

async function until(what: string, is: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 400; i++) {
    if (await is()) return;
    await realClock.sleep(5);
  }
  throw new Error(`timed out: ${what}; files: ${(await readdir(dirname(path))).join(' ')}`);
}

/** Fills the log a few times. */
async function rotate(kubelet: Kubelet, times: number): Promise<void> {
  for (let i = 0; i < times && !kubelet.isDead; i++) {
    const before = log.reopened;
    log.write(25);
    await until('a rotation', () => kubelet.isDead || log.reopened > before);
  }
}

const names = async (): Promise<readonly string[]> => (await readdir(dirname(path))).toSorted();

/** The current file, one plain file, and the rest compressed. */
async function isTidy(): Promise<boolean> {
  const [live, ...rotated] = await names();
  const newest = rotated.pop();
  return (
    live === '0.log' &&
    newest?.endsWith('.gz') === false &&
    rotated.every((name) => name.endsWith('.gz')) &&
    (await stat(path)).size < limitBytes
  );
}

async function numbers(): Promise<readonly number[]> {
  const [, ...rotated] = await names();
  const texts = [...rotated, '0.log'].map((name) => {
    const bytes = readFileSync(join(dirname(path), name));
    return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
  });
  return texts
    .join('')
    .trimEnd()
    .split('\n')
    .map((line) => Number(line.slice(line.lastIndexOf(' ') + 1)));
}

async function crashAt(crash: Crash, maxFiles: number): Promise<readonly string[]> {
  const first = new Kubelet(crash);
  await first.start(maxFiles);
  await rotate(first, 4);
  await until('the crash', async () => first.isDead || (await isTidy()));
  const { taken } = first;
  await first.stop();
  // The container continues without a kubelet.
  log.write(3);
  const second = new Kubelet();
  await second.start(maxFiles);
  await until('the log to exist', async () => (await names()).includes('0.log'));
  await rotate(second, 2);
  await until('a tidy directory', isTidy);
  await second.stop();
  return taken;
}

describe('a kubelet killed in the middle of a rotation', () => {
  test('takes every step of the table', async () => {
    const taken = await crashAt({ step: 1_000, when: 'before' }, 20);
    expect([...new Set(taken)].toSorted()).toEqual(['compress', 'move', 'remove', 'reopen']);
    // Four rotations, and three compressions with two more steps each.
    expect(taken).toHaveLength(4 * 2 + 3 * 3);
  });

  for (const when of ['before', 'during', 'after'] as const)
    for (let step = 0; step < 17; step++)
      test(`loses no line and leaves no file: ${when} step ${step}`, async () => {
        await crashAt({ step, when }, 20);
        expect(await numbers()).toEqual(Array.from({ length: log.lines }, (_, index) => index));
      });

  for (const when of ['after'] as const)
    for (let step = 0; step < 17; step++)
      test(`removes only the oldest lines with maxFiles 3: ${when} step ${step}`, async () => {
        await crashAt({ step, when }, 3);
        expect(await names()).toHaveLength(3);
        const left = await numbers();
        const first = left[0] ?? 0;
        expect(left).toEqual(Array.from({ length: log.lines - first }, (_, index) => first + index));
        expect(left.length).toBeGreaterThan(25);
      });
});
