import { beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { Viewer } from './viewer.ts';

describe('a viewer', () => {
  let clock: FakeClock;
  let left: number;
  let viewer: Viewer;
  beforeEach(() => {
    clock = new FakeClock();
    left = 0;
    viewer = new Viewer({ clock, pod: undefined, health: false, onLeave: () => left++ });
  });

  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

  async function readAll(): Promise<readonly string[]> {
    const texts: string[] = [];
    for await (const chunk of viewer) texts.push(new TextDecoder().decode(chunk));
    return texts;
  }

  test('a viewer gets its messages in order, then the last one', async () => {
    viewer.offer('hello', bytes('hello'));
    viewer.offer('node', bytes('node'));
    viewer.end(bytes('bye'));
    viewer.offer('usage', bytes('too late'));
    expect(await readAll()).toEqual(['hello', 'node', 'bye']);
    expect(left).toBe(1);
  });

  test('of what it has not read, a viewer gets the latest of each kind', async () => {
    for (let index = 0; index < 1_000; index++) {
      viewer.offer('usage', bytes(`usage ${index}`));
      viewer.offer('node', bytes(`node ${index}`));
    }
    viewer.end();
    expect(await readAll()).toEqual(['usage 999', 'node 999']);
  });

  test('a viewer that missed a change gets the level instead', async () => {
    let rows = 'first';
    const level = (): Uint8Array => bytes(rows);
    viewer.offerChange('pods', bytes('change 1'), level);
    viewer.offerChange('pods', bytes('change 2'), level);
    viewer.offerChange('pods', bytes('change 3'), level);
    rows = 'all';
    viewer.end();
    expect(await readAll()).toEqual(['all']);
  });

  test('a level in pieces is not interrupted', async () => {
    viewer.offer('samples', () => [bytes('['), bytes('1'), bytes(']')]);
    const chunks = viewer[Symbol.asyncIterator]();
    const first = await chunks.next();
    viewer.offer('retry', bytes('other'));
    viewer.end();
    expect([new TextDecoder().decode(first.value as Uint8Array), ...(await readAll())]).toEqual([
      '[',
      '1',
      ']',
      'other',
    ]);
  });

  test('a message wakes a viewer that waits', async () => {
    const chunks = viewer[Symbol.asyncIterator]();
    const next = chunks.next();
    viewer.offer('usage', bytes('1'));
    expect(await next).toEqual({ done: false, value: bytes('1') });
  });

  test('the time that a viewer has not read counts, the time that it waits does not', async () => {
    const chunks = viewer[Symbol.asyncIterator]();
    const next = chunks.next();
    await clock.advance(60_000);
    expect(viewer.unreadMs()).toBe(0);
    viewer.offer('usage', bytes('1'));
    await next;
    await clock.advance(20_000);
    viewer.offer('usage', bytes('2'));
    await clock.advance(10_000);
    expect(viewer.unreadMs()).toBe(30_000);
  });

  test('a disconnected viewer holds nothing', async () => {
    viewer.offer('usage', bytes('1'));
    await viewer[Symbol.asyncIterator]().return?.();
    expect(await readAll()).toEqual([]);
    expect(left).toBe(2);
  });
});
