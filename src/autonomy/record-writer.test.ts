import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { Verbosity } from '../base/log/log.ts';
import { textLogger } from '../base/log/log-text.ts';
import { RecordWriter } from './record-writer.ts';

class Scene {
  readonly clock = new FakeClock();
  readonly acts: string[] = [];
  readonly log: string[] = [];
  isFull = false;
  /** Resolves writes by hand. */
  gate: Promise<void> = Promise.resolve();
  readonly writer = new RecordWriter({
    files: {
      write: async (kind, key, text) => {
        await this.gate;
        if (this.isFull) throw new Error('no space left on device');
        this.acts.push(`write ${kind}/${key} ${text}`);
      },
      remove: async (kind, key) => void this.acts.push(`remove ${kind}/${key}`),
    },
    clock: this.clock,
    log: textLogger({
      write: (line) => void this.log.push(line),
      clock: this.clock,
      verbosity: new Verbosity(2),
      pid: 1,
    }),
  });
}

describe('RecordWriter', () => {
  test('writes the last of several texts once, when it is due', async () => {
    const { acts, clock, writer } = new Scene();
    writer.start();
    writer.put('pods', 'a', () => '1', 500);
    writer.put('pods', 'a', () => '2', 5_000);
    expect(writer.pendingText('pods', 'a')).toBe('2');
    await clock.advance(499);
    expect(acts).toEqual([]);
    await clock.advance(1);
    expect(acts).toEqual(['write pods/a 2']);
    expect(writer.pendingText('pods', 'a')).toBeUndefined();
  });

  test('writes first what must be gone', async () => {
    const { acts, clock, writer } = new Scene();
    for (const key of ['a', 'b']) writer.put('pods', key, () => key, 0);
    writer.remove('pods', 'c');
    writer.putNow('pods', 'd', () => 'over');
    writer.start();
    await clock.advance(0);
    expect(acts).toEqual(['remove pods/c', 'write pods/d over', 'write pods/a a', 'write pods/b b']);
  });

  test('a removal supersedes a text that was not written', async () => {
    const { acts, clock, writer } = new Scene();
    writer.start();
    writer.put('pods', 'a', () => '1', 500);
    writer.remove('pods', 'a');
    await clock.advance(10_000);
    expect(acts).toEqual(['remove pods/a']);
  });

  test('a change during a write is written after it', async () => {
    const scene = new Scene();
    let open = (): void => undefined;
    scene.gate = new Promise((resolve) => {
      open = resolve;
    });
    scene.writer.start();
    scene.writer.put('pods', 'a', () => '1', 0);
    await scene.clock.advance(0);
    scene.writer.put('pods', 'a', () => '2', 0);
    open();
    await scene.clock.advance(0);
    expect(scene.acts).toEqual(['write pods/a 1', 'write pods/a 2']);
  });

  test('a full disk is reported once and retried; a pod that is over leaves no older record', async () => {
    const scene = new Scene();
    const { acts, clock, log, writer } = scene;
    scene.isFull = true;
    writer.start();
    writer.put('configmaps', 'c', () => '1', 0);
    writer.putNow('pods', 'over', () => '2');
    await clock.advance(25_000);
    expect([acts[0], log.length]).toEqual(['remove pods/over', 1]);
    expect(acts.filter((act) => act.startsWith('write'))).toEqual([]);
    scene.isFull = false;
    await clock.advance(10_000);
    expect(acts.filter((act) => act.startsWith('write'))).toEqual([
      'write configmaps/c 1',
      'write pods/over 2',
    ]);
    expect(log).toHaveLength(1);
  });

  test('stopping writes everything that is pending', async () => {
    const { acts, clock, writer } = new Scene();
    writer.start();
    writer.put('pods', 'a', () => '1', 60_000);
    writer.put('pods', 'b', () => '2', 60_000);
    await clock.until(writer.stop());
    expect(acts).toEqual(['write pods/a 1', 'write pods/b 2']);
    expect(clock.pendingTimers()).toBe(0);
  });
});
