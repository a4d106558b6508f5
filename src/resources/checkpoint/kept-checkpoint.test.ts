import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { KeptCheckpoint } from './kept-checkpoint.ts';

const path = '/k/state';
const previous = '/k/.state.previous';
const damaged = '/k/.state.damaged';

class Scene {
  readonly clock = new FakeClock();
  readonly files = new Map<string, string>();
  readonly errors: string[] = [];
  state = '';
  /** A kill after the predecessor was kept and before the file is replaced. */
  killed = false;

  open(): KeptCheckpoint<string> {
    return new KeptCheckpoint<string>({
      files: {
        read: async (name) => {
          const text = this.files.get(name);
          if (text === 'unreadable') throw new Error(`cannot read ${name}`);
          return text;
        },
        replace: async (name, text) => {
          if (!this.killed) this.files.set(name, text);
        },
        flush: async () => undefined,
        keep: async (name, as) => {
          const text = this.files.get(name);
          if (text !== undefined) this.files.set(as, text);
        },
      },
      path,
      clock: this.clock,
      decode: (text) => {
        if (!text.startsWith('v1 ')) throw new Error('it is foreign');
        return text.slice(3);
      },
      encode: () => `v1 ${this.state}`,
      onError: (err) => this.errors.push(String(err)),
    });
  }

  async write(checkpoint: KeptCheckpoint<string>, state: string): Promise<void> {
    this.state = state;
    checkpoint.save();
    await checkpoint.saved();
  }
}

describe('KeptCheckpoint', () => {
  test('is empty without a fault if there is no file', async () => {
    expect(await new Scene().open().load()).toEqual({ state: undefined, fault: undefined });
  });

  test('keeps the predecessor of every write', async () => {
    const scene = new Scene();
    const checkpoint = scene.open();
    await scene.write(checkpoint, 'a');
    await scene.write(checkpoint, 'b');
    expect(Object.fromEntries(scene.files)).toEqual({ [path]: 'v1 b', [previous]: 'v1 a' });
    expect(await scene.open().load()).toEqual({ state: 'b', fault: undefined });
  });

  for (const [what, text, why] of [
    ['foreign', '{}', 'it is foreign'],
    ['empty', '', 'it is empty'],
    ['full of zeros', '\0\0', 'it is empty'],
    ['unreadable', 'unreadable', 'cannot read /k/state'],
  ] as const) {
    test(`sets aside a file that is ${what}, and uses its predecessor`, async () => {
      const scene = new Scene();
      scene.files.set(path, text).set(previous, 'v1 a');
      const loaded = await scene.open().load();
      expect(loaded).toEqual({ state: 'a', fault: { path, why, setAside: damaged, usedPrevious: true } });
      expect(scene.files.get(damaged)).toBe(text);
    });
  }

  for (const other of [undefined, 'damaged as well', ''])
    test(`has no state if the predecessor is ${JSON.stringify(other)}`, async () => {
      const scene = new Scene();
      scene.files.set(path, 'damaged');
      if (other !== undefined) scene.files.set(previous, other);
      const { fault, state } = await scene.open().load();
      expect([state, fault?.usedPrevious]).toEqual([undefined, false]);
    });

  test('a damaged file never takes the place of its predecessor, also if the kubelet is killed while it writes', async () => {
    const scene = new Scene();
    scene.files.set(path, 'damaged').set(previous, 'v1 a');
    const checkpoint = scene.open();
    await checkpoint.load();
    scene.killed = true;
    await scene.write(checkpoint, 'b');
    expect((await scene.open().load()).state).toBe('a');
    scene.killed = false;
    const next = scene.open();
    await next.load();
    await scene.write(next, 'c');
    expect([scene.files.get(path), scene.files.get(previous)]).toEqual(['v1 c', 'v1 a']);
    await scene.write(next, 'd');
    expect(scene.files.get(previous)).toBe('v1 c');
  });
});
