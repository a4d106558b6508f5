import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { processOutput, ReaderGone } from './process-output.ts';

class FakeStream extends EventEmitter {
  readonly isTTY: boolean;
  columns = 90;
  rows = 30;
  readonly texts: unknown[] = [];
  readonly #done: ((err?: Error) => void)[] = [];

  constructor(isTTY: boolean) {
    super();
    this.isTTY = isTTY;
  }

  write(text: unknown, done: (err?: Error) => void): boolean {
    this.texts.push(text);
    this.#done.push(done);
    return false;
  }

  accept(): void {
    this.#done.shift()?.();
  }

  /** As a pipe: every write fails before the stream does. */
  break(err: Error): void {
    for (const done of this.#done.splice(0)) done(err);
    this.emit('error', err);
  }
}

function outputOn(isTTY: boolean, env: Readonly<Record<string, string>> = {}) {
  const stdout = new FakeStream(isTTY);
  const stderr = new FakeStream(isTTY);
  return { stdout, stderr, output: processOutput({ stdout, stderr, env }) };
}

test('print waits until the text is written', async () => {
  const { output, stdout } = outputOn(false);
  let isDone = false;
  const printing = output.print('a').then(() => (isDone = true));
  await Promise.resolve();
  expect([stdout.texts, isDone]).toEqual([['a'], false]);
  stdout.accept();
  expect(await printing).toBe(true);
});

test('a reader that is gone rejects texts, waiting and later ones', async () => {
  const { output, stdout } = outputOn(false);
  const waiting = output.print('a');
  stdout.break(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
  await expect(waiting).rejects.toBeInstanceOf(ReaderGone);
  await expect(output.print('b')).rejects.toBeInstanceOf(ReaderGone);
});

test('another error of the stream is a failure', async () => {
  const { output, stdout } = outputOn(false);
  const waiting = output.print('a');
  stdout.break(new Error('no space left on device'));
  await expect(waiting).rejects.toThrow('no space left on device');
});

const terminals = [
  [true, {}, 90, true],
  [true, { NO_COLOR: '1' }, 90, false],
  [true, { NO_COLOR: '' }, 90, true],
  [true, { TERM: 'dumb' }, 90, false],
  [false, {}, undefined, false],
] as const;
for (const [isTTY, env, columns, colours] of terminals)
  test(`terminal: ${isTTY}, environment: ${JSON.stringify(env)}`, () => {
    const { output } = outputOn(isTTY, env);
    expect([output.columns(), output.colours]).toEqual([columns, colours]);
  });

test('a terminal that does not know its size has the usual one', () => {
  const { output, stdout } = outputOn(true);
  stdout.columns = 0;
  stdout.rows = 0;
  expect([output.columns(), output.rows()]).toEqual([80, 24]);
});
