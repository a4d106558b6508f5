import { describe, expect, test } from 'vitest';
import { findSuccessor } from './find-successor.ts';
import type { LogFile, LogFiles } from './log-files.ts';

const target = { path: '/logs/0.log', containerId: 'id' };
const a = '0.log.20261118-130000';
const b = '0.log.20261118-130000_001';
const c = '0.log.20261118-130001';

/** A directory in memory, which a test changes between two calls. */
class Directory {
  /** Identities by name. */
  readonly files = new Map<string, string>();
  /** What happens after the n-th list. */
  readonly afterList: (() => void)[] = [];
  open = 0;

  constructor(...names: readonly string[]) {
    for (const name of names) this.files.set(name, `id of ${name}`);
  }

  move(from: string, to: string): void {
    this.files.set(to, this.files.get(from) ?? '');
    this.files.delete(from);
  }

  /** Rotates the current file; the runtime creates another. */
  rotate(to: string): void {
    this.move('0.log', to);
    this.files.set('0.log', `after ${to}`);
  }

  compress(name: string): void {
    this.files.delete(name);
    this.files.set(`${name}.gz`, `compressed ${name}`);
  }

  file(identity: string, name: () => string): LogFile {
    this.open += 1;
    return {
      identity,
      compressed: false,
      read: async () => 0,
      size: async () => 0,
      name: async () => name(),
      close: async () => {
        this.open -= 1;
      },
    };
  }

  get logs(): LogFiles {
    const at = (path: string): string => path.slice('/logs/'.length);
    return {
      open: async (path) => {
        const identity = this.files.get(at(path));
        return identity === undefined ? undefined : this.file(identity, () => at(path));
      },
      rotated: async () => {
        const names = [...this.files.keys()].filter((name) => name !== '0.log').toSorted();
        const list = names.map((name) => ({ path: `/logs/${name}`, identity: this.files.get(name) ?? '' }));
        this.afterList.shift()?.();
        return list;
      },
      identity: async (path) => this.files.get(at(path)),
      watch: () => ({ close: () => undefined }),
    };
  }
}

/** The identity of the file that continues `own`, and whether it is the current one. */
async function successorOf(directory: Directory, own: string): Promise<readonly unknown[] | undefined> {
  const identity = directory.files.get(own) ?? `id of ${own}`;
  // An open file has its last name when it is deleted.
  const found = await findSuccessor(
    directory.logs,
    target,
    directory.file(identity, () => own),
    undefined,
  );
  expect(directory.open).toBe(found === undefined ? 1 : 2);
  return found && [found.file.identity, found.isCurrent];
}

describe('the successor of a log file', () => {
  const cases = [
    ['none while it is the current file', ['0.log'], '0.log', undefined],
    ['the current file after one rotation', [a, '0.log'], a, ['id of 0.log', true]],
    ['the next rotated file after several', [a, b, c, '0.log'], a, [`id of ${b}`, false]],
    ['the next one, compressed', [a, `${b}.gz`, c, '0.log'], a, [`id of ${b}.gz`, false]],
    ['the same after it was compressed itself', [`${a}.gz`, b, '0.log'], a, [`id of ${b}`, false]],
    ['the oldest left after it and others were deleted', [c, '0.log'], a, [`id of ${c}`, false]],
    ['none until the runtime has reopened the log', [a], a, undefined],
  ] as const;
  for (const [name, names, own, want] of cases)
    test(name, async () => expect(await successorOf(new Directory(...names), own)).toEqual(want));

  test('is found if it is compressed after the list', async () => {
    const directory = new Directory(a, b, '0.log');
    directory.afterList.push(() => directory.compress(b));
    expect(await successorOf(directory, a)).toEqual([`compressed ${b}`, false]);
  });

  test('is the next one left if it is deleted after the list', async () => {
    const directory = new Directory(a, b, c, '0.log');
    directory.afterList.push(() => directory.files.delete(b));
    expect(await successorOf(directory, a)).toEqual([`id of ${c}`, false]);
  });

  test('is not skipped if the log is rotated after the list', async () => {
    const directory = new Directory(a, '0.log');
    directory.afterList.push(() => {
      directory.rotate(b);
      directory.rotate(c);
    });
    expect(await successorOf(directory, a)).toEqual(['id of 0.log', false]);
  });

  test('is the current file even if that is rotated right after it was opened', async () => {
    const directory = new Directory(a, '0.log');
    directory.afterList.push(
      () => undefined,
      () => directory.rotate(b),
    );
    expect(await successorOf(directory, a)).toEqual(['id of 0.log', true]);
  });

  test('is searched again later if the log changes all the time', async () => {
    const directory = new Directory(a, b, '0.log');
    const vanish = (index: number) => (): void => {
      directory.files.delete(`0.log.20261118-1500${index}`);
      directory.files.delete(b);
      directory.files.set(`0.log.20261118-1500${index + 1}`, 'other');
      directory.afterList.push(vanish(index + 1));
    };
    directory.afterList.push(vanish(10));
    expect(await successorOf(directory, a)).toBeUndefined();
  });
});
