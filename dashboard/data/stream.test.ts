import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { asPodUid } from '../../src/api/pod/pod-ref.ts';
import type { Connection, StreamMessage } from './state.ts';
import {
  type EventSourceLike,
  longestRetryMs,
  PageStream,
  settledMs,
  shortestRetryMs,
  silenceMs,
} from './stream.ts';

class FakeSource implements EventSourceLike {
  readonly url: string;
  closed = false;
  readonly #listeners = new Map<string, (event: { readonly data?: unknown }) => void>();
  constructor(url: string) {
    this.url = url;
  }
  addEventListener(name: string, listen: (event: { readonly data?: unknown }) => void): void {
    this.#listeners.set(name, listen);
  }
  close(): void {
    this.closed = true;
  }
  emit(name: string, data?: unknown): void {
    this.#listeners.get(name)?.(data === undefined ? {} : { data: JSON.stringify(data) });
  }
  emitText(name: string, data: string): void {
    this.#listeners.get(name)?.({ data });
  }
}

class Rig {
  readonly sources: FakeSource[] = [];
  readonly connections: Connection[] = [];
  readonly messages: StreamMessage[] = [];
  status: () => Promise<number> = () => Promise.reject(new Error('unreachable'));
  readonly stream = new PageStream({
    open: (url) => {
      const source = new FakeSource(url);
      this.sources.push(source);
      return source;
    },
    status: () => this.status(),
    random: () => 0.5,
    onMessage: (message) => this.messages.push(message),
    onConnection: (connection) => this.connections.push(connection),
  });

  get last(): FakeSource {
    const source = this.sources.at(-1);
    if (source === undefined) throw new Error('no connection was opened');
    return source;
  }

  get open(): number {
    return this.sources.filter(({ closed }) => !closed).length;
  }

  /** Fails the connection and returns how long it takes until the next one. */
  async failAndWait(): Promise<number> {
    const before = this.sources.length;
    this.last.emit('error');
    await vi.advanceTimersByTimeAsync(0);
    for (let waitedMs = 0; waitedMs <= 60_000; waitedMs += 50) {
      if (this.sources.length > before) return waitedMs;
      await vi.advanceTimersByTimeAsync(50);
    }
    throw new Error('no reconnect');
  }
}

const hello = { instance: 'p1' };

describe('PageStream', () => {
  let rig: Rig;
  beforeEach(() => {
    vi.useFakeTimers();
    rig = new Rig();
    rig.stream.resume();
  });
  afterEach(() => {
    rig.stream.pause();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  test('reports the connection at the greeting and passes messages', () => {
    rig.last.emit('hello', hello);
    rig.last.emit('pods', { all: true, rows: [], gone: [] });
    rig.last.emitText('pods', '{broken');
    expect(rig.connections).toEqual([{ kind: 'connected' }]);
    expect(rig.messages.map(({ name }) => name)).toEqual(['hello', 'pods']);
  });

  test('backs off from 0.5 s to 10 s, and starts over after a connection that lasted', async () => {
    const waits: number[] = [];
    for (let round = 0; round < 7; round += 1) waits.push(await rig.failAndWait());
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
    expect(waits.every((wait) => wait >= shortestRetryMs && wait <= longestRetryMs)).toBe(true);
    rig.last.emit('hello', hello);
    expect(await rig.failAndWait()).toBe(10_000);
    rig.last.emit('hello', hello);
    await vi.advanceTimersByTimeAsync(settledMs);
    expect(await rig.failAndWait()).toBe(500);
    expect(rig.connections.at(-1)?.kind).toBe('reconnecting');
  });

  test.each([401, 403])(
    'distinguishes HTTP %i from an unreachable kubelet and retries slowly',
    async (status) => {
      rig.status = () => Promise.resolve(status);
      expect(await rig.failAndWait()).toBe(longestRetryMs);
      expect(rig.connections.map(({ kind }) => kind)).toEqual(['reconnecting', 'unauthorized']);
      await rig.failAndWait();
      expect(rig.connections.map(({ kind }) => kind)).toEqual([
        'reconnecting',
        'unauthorized',
        'unauthorized',
      ]);
      rig.status = () => Promise.resolve(200);
      await rig.failAndWait();
      expect(rig.connections.at(-1)?.kind).toBe('reconnecting');
    },
  );

  test('reconnects after bye when the kubelet wants it', async () => {
    rig.last.emit('hello', hello);
    rig.last.emit('bye', { why: 'The kubelet stops.', retryMs: 3000 });
    expect(rig.open).toBe(0);
    expect(rig.connections.at(-1)).toEqual({ kind: 'reconnecting', why: 'The kubelet stops.' });
    await vi.advanceTimersByTimeAsync(2999);
    expect(rig.open).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(rig.open).toBe(1);
  });

  test('takes a long silence for a dead connection', async () => {
    rig.last.emit('hello', hello);
    await vi.advanceTimersByTimeAsync(silenceMs - 1);
    rig.last.emit('usage', {});
    await vi.advanceTimersByTimeAsync(silenceMs - 1);
    expect(rig.open).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(rig.open).toBe(0);
    expect(rig.connections.at(-1)?.kind).toBe('reconnecting');
  });

  test('has one connection, with what the view needs', () => {
    rig.stream.want({ pod: asPodUid('a b') });
    rig.stream.want({ pod: asPodUid('a b') });
    rig.stream.want({ health: true });
    expect(rig.sources.map(({ url }) => url)).toEqual([
      'api/stream',
      'api/stream?pod=a+b',
      'api/stream?health=1',
    ]);
    expect(rig.open).toBe(1);
  });

  test('ignores what a closed connection still sends', () => {
    const [first] = rig.sources;
    rig.stream.want({ health: true });
    first?.emit('hello', hello);
    first?.emit('error');
    expect(rig.messages).toEqual([]);
    expect(rig.open).toBe(1);
  });

  test('a paused stream has no connection and no timer, and resumes with the current view', async () => {
    rig.last.emit('error');
    rig.stream.pause();
    await vi.advanceTimersByTimeAsync(60_000);
    expect([rig.open, vi.getTimerCount()]).toEqual([0, 0]);
    rig.stream.want({ health: true });
    expect(rig.open).toBe(0);
    rig.stream.resume();
    expect(rig.last.url).toBe('api/stream?health=1');
  });

  test('retries at once with a new token', async () => {
    rig.status = () => Promise.resolve(401);
    rig.last.emit('error');
    await vi.advanceTimersByTimeAsync(0);
    expect(rig.open).toBe(0);
    rig.stream.retryNow();
    expect(rig.open).toBe(1);
  });
});
