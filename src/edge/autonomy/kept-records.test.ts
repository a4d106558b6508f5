import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { memoryDurableFiles } from '../../../test/fakes/memory-durable-files.ts';
import { realClock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import { Verbosity } from '../../base/log/log.ts';
import { textLogger } from '../../base/log/log-text.ts';
import { type DurableFiles, durableFiles, readMachineId } from './durable-files.ts';
import { recordName } from './envelope.ts';
import { KeptRecords, type KeptRecordsOptions } from './kept-records.ts';

const directory = '/k/autonomy';

class Scene {
  readonly files = new Map<string, string>();
  readonly log: string[] = [];

  readonly options: KeptRecordsOptions = {
    directory,
    nodeName: 'n',
    sealedKinds: ['secrets'],
    files: memoryDurableFiles(this.files),
    machineId: async () => 'm',
    log: textLogger({
      write: (line) => void this.log.push(line),
      clock: realClock,
      verbosity: new Verbosity(2),
      pid: 1,
    }),
  };

  async open(over: Partial<KeptRecordsOptions> = {}): Promise<KeptRecords> {
    const records = new KeptRecords({ ...this.options, ...over });
    await records.open();
    return records;
  }

  path(kind: string, key: string): string {
    return `${directory}/${kind}/${recordName(kind, key)}`;
  }
}

async function all(records: KeptRecords, kind: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  await records.load(kind, (key, text) => {
    found[key] = text;
  });
  return found;
}

describe('KeptRecords', () => {
  let scene: Scene;
  beforeEach(() => {
    scene = new Scene();
  });

  test('returns what was written, also to the next process', async () => {
    const records = await scene.open();
    await records.write('pods', 'u1', '{"a":1}');
    await records.write('pods', 'u2', '{"b":"\\n"}');
    await records.write('secrets', 'ns/s', '{"c":1}');
    await records.remove('pods', 'u1');
    const next = await scene.open();
    expect([await all(next, 'pods'), await all(next, 'secrets')]).toEqual([
      { u2: '{"b":"\\n"}' },
      { 'ns/s': '{"c":1}' },
    ]);
    expect(await next.read('secrets', 'ns/s')).toBe('{"c":1}');
    expect(await next.read('secrets', 'ns/none')).toBeUndefined();
    expect(scene.log).toEqual([]);
  });

  test('two records of the same text are encrypted differently, and no text is in clear', async () => {
    const records = await scene.open();
    await Promise.all(['a', 'b'].map((key) => records.write('secrets', key, 'the same text')));
    const [a = '', b = ''] = ['a', 'b'].map(
      (key) => scene.files.get(scene.path('secrets', key))?.split('\n')[1],
    );
    expect(a).not.toBe(b);
    expect([...scene.files.values()].join('\n')).not.toContain('the same text');
    expect(await all(await scene.open(), 'secrets')).toEqual({ a: 'the same text', b: 'the same text' });
  });

  test('many readers that find no key create one key', async () => {
    const records = await scene.open();
    for (const key of ['a', 'b', 'c', 'd']) await records.write('secrets', key, key);
    scene.files.delete(`${directory}/key`);
    const next = await scene.open();
    expect(await all(next, 'secrets')).toEqual({});
    await next.write('secrets', 'a', 'again');
    expect(await all(await scene.open(), 'secrets')).toEqual({ a: 'again' });
  });

  for (const [what, damage] of [
    ['empty', () => ''],
    ['truncated', (text: string) => text.slice(0, -3)],
    ['truncated to its header', (text: string) => text.slice(0, text.indexOf('\n') + 1)],
    [
      'changed by one character',
      (text: string) => `${text.slice(0, -8)}${text.at(-8) === 'A' ? 'B' : 'A'}${text.slice(-7)}`,
    ],
    ['of another version', (text: string) => text.replace('"version":1', '"version":2')],
    ['without a header', () => 'x'.repeat(100_000)],
    ['of another kind', (text: string) => text.replace(/"kind":"\w+"/, '"kind":"other"')],
    ['for another key', (text: string) => text.replace('"key":"k"', '"key":"l"')],
  ] as const)
    for (const kind of ['pods', 'secrets'])
      test(`a record of ${kind} that is ${what} is set aside once, and the others are used`, async () => {
        const records = await scene.open();
        await records.write(kind, 'k', 'damaged text');
        await records.write(kind, 'other', 'whole text');
        const path = scene.path(kind, 'k');
        scene.files.set(path, damage(scene.files.get(path) ?? ''));
        expect(await all(await scene.open(), kind)).toEqual({ other: 'whole text' });
        expect(scene.files.has(path)).toBe(false);
        expect(scene.files.has(`${directory}/damaged/${kind}-${recordName(kind, 'k')}`)).toBe(true);
        expect(scene.log).toHaveLength(1);
        await all(await scene.open(), kind);
        expect(scene.log).toHaveLength(1);
      });

  test('a secret that was replaced by one in clear is refused', async () => {
    const records = await scene.open({ sealedKinds: [] });
    await records.write('secrets', 'k', 'planted');
    expect(await all(await scene.open(), 'secrets')).toEqual({});
    expect(scene.log.join()).toContain('it is not encrypted');
  });

  test('a text that its reader refuses is set aside', async () => {
    const records = await scene.open();
    await records.write('pods', 'k', 'not JSON');
    await records.load('pods', (_, text) => void JSON.parse(text));
    await new Promise((resolve) => setImmediate(resolve));
    expect(scene.files.has(scene.path('pods', 'k'))).toBe(false);
  });

  for (const [what, over] of [
    ['node', { nodeName: 'm' }],
    ['machine', { machineId: async () => 'another' }],
  ] as const)
    test(`state of another ${what} is set aside with one line, and its secrets do not decrypt`, async () => {
      const records = await scene.open();
      for (const key of ['a', 'b', 'c']) await records.write('pods', key, key);
      await records.write('secrets', 's', 'text');
      const moved = await scene.open(over);
      expect([await all(moved, 'pods'), await all(moved, 'secrets')]).toEqual([{}, {}]);
      expect(scene.log).toHaveLength(1);
      expect(scene.log[0]).toContain('The kept state is of another node or machine and was set aside');
    });

  test('a sealed text does not open under a key of another machine, even with a forged header', async () => {
    const records = await scene.open();
    await records.write('secrets', 's', 'text');
    const other = await scene.open({ machineId: async () => 'another', directory: '/other' });
    scene.files.set('/other/key', scene.files.get(`${directory}/key`) ?? '');
    await other.write('secrets', 't', 'x');
    const mark = /"machine":"(\w+)"/.exec(
      [...scene.files.entries()].find(([path]) => path.startsWith('/other/secrets'))?.[1] ?? '',
    );
    const stolen = scene.files
      .get(scene.path('secrets', 's'))
      ?.replace(/"machine":"\w+"/, `"machine":"${mark?.[1]}"`);
    scene.files.set(`/other/secrets/${recordName('secrets', 's')}`, stolen ?? '');
    expect(await all(other, 'secrets')).toEqual({ t: 'x' });
    expect(scene.log.join()).toContain("it does not decrypt with this node's key");
  });

  test('the files that are set aside are bounded', async () => {
    const records = await scene.open();
    for (let i = 0; i < 130; i++) scene.files.set(`${directory}/pods/x${i}`, 'damaged');
    await all(records, 'pods');
    const left = [...scene.files.keys()];
    expect(left.filter((path) => path.startsWith(`${directory}/pods/`))).toEqual([]);
    expect(left.length).toBeLessThanOrEqual(110);
  });

  test('a disk that fails to read sets nothing aside, and what it holds is used once it reads', async () => {
    const records = await scene.open();
    await records.write('pods', 'p', 'text');
    await records.write('secrets', 's', 'secret text');
    const before = new Map(scene.files);
    const memory = memoryDurableFiles(scene.files);
    let fails = (_path: string): boolean => true;
    const files: DurableFiles = {
      ...memory,
      read: async (path, limitBytes) => {
        if (fails(path)) throw new KubeletError('internal', 'FailedRead', `cannot read ${path}: EIO`);
        return await memory.read(path, limitBytes);
      },
    };
    const next = await scene.open({ files });
    for (fails of [() => true, (path: string) => path.endsWith('/key')]) {
      expect(await all(next, 'secrets')).toEqual({});
      expect(scene.files).toEqual(before);
    }
    fails = () => false;
    expect([await all(next, 'pods'), await all(next, 'secrets')]).toEqual([
      { p: 'text' },
      { s: 'secret text' },
    ]);
  });

  test('a machine ID that cannot be read is not that of another machine', async () => {
    const records = await scene.open();
    await records.write('pods', 'p', 'text');
    let failures = 2;
    const machineId = async (): Promise<string> => {
      if (failures-- > 0) throw new Error('too many open files');
      return 'm';
    };
    await expect(scene.open({ machineId })).rejects.toThrow('too many open files');
    const next = new KeptRecords({ ...scene.options, machineId });
    await expect(next.write('pods', 'q', 'late')).rejects.toThrow('too many open files');
    await next.write('pods', 'q', 'late');
    expect(await all(await scene.open(), 'pods')).toEqual({ p: 'text', q: 'late' });
  });

  test('everything is removed on request, and nothing is done if there is nothing', async () => {
    const records = await scene.open();
    await records.write('secrets', 's', 'text');
    expect([await records.forgetAll(), await records.forgetAll(), scene.files.size]).toEqual([
      true,
      false,
      0,
    ]);
  });

  test('a damaged key is replaced', async () => {
    scene.files.set(`${directory}/key`, 'short');
    const records = await scene.open();
    await records.write('secrets', 's', 'text');
    expect(scene.files.get(`${directory}/key`)).toMatch(/^[0-9a-f]{64}\n$/);
    expect(scene.log.join()).toContain('The key of the kept secrets is damaged');
  });

  test('secrets and key are removed on request', async () => {
    const records = await scene.open();
    await records.write('secrets', 's', 'text');
    await records.write('pods', 'p', 'text');
    await records.forgetSecrets(['secrets']);
    expect([...scene.files.keys()]).toEqual([scene.path('pods', 'p')]);
  });

  test('leftovers of interrupted writes are removed and not read', async () => {
    const records = await scene.open();
    scene.files.set(`${directory}/pods/x.tmp`, 'half');
    expect([await all(records, 'pods'), scene.files.size, scene.log]).toEqual([{}, 0, []]);
  });
});

describe('on disk', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'autonomy-'));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  test('directories and files are for root only', async () => {
    const records = await new Scene().open({ directory: join(root, 'autonomy'), files: durableFiles });
    await records.write('secrets', 's', 'text');
    const modes = readdirSync(root, { recursive: true }).map(
      (name) => statSync(join(root, String(name))).mode & 0o777,
    );
    expect(modes.toSorted((a, b) => a - b)).toEqual([0o600, 0o600, 0o700, 0o700]);
    expect(await records.read('secrets', 's')).toBe('text');
    await records.remove('secrets', 's');
    expect(await records.read('secrets', 's')).toBeUndefined();
  });

  test('everything below is removed, and what links lead to stays', async () => {
    const records = await new Scene().open({ directory: join(root, 'autonomy'), files: durableFiles });
    await records.write('secrets', 's', 'text');
    writeFileSync(join(root, 'other'), 'text');
    symlinkSync(root, join(root, 'autonomy', 'link'));
    expect([await records.forgetAll(), readdirSync(root)]).toEqual([true, ['other']]);
    expect(await records.forgetAll()).toBe(false);
  });

  test('an existing directory is closed to others, and a link in its place is refused', async () => {
    const scene = new Scene();
    const open = { directory: join(root, 'autonomy'), files: durableFiles };
    symlinkSync(root, join(root, 'autonomy'));
    await expect(scene.open(open)).rejects.toThrow();
  });

  test('a machine without an ID has an empty one; one that cannot be read is an error', async () => {
    expect(await readMachineId(join(root, 'none'))).toBe('');
    await expect(readMachineId(root)).rejects.toThrow('EISDIR');
  });

  test('a link, and a file that is set aside, keep their content', async () => {
    const scene = new Scene();
    const records = await scene.open({ directory: root, files: durableFiles });
    await records.write('pods', 'k', 'text');
    writeFileSync(join(root, 'pods', recordName('pods', 'k')), 'damaged');
    symlinkSync('/etc/hostname', join(root, 'pods', 'link'));
    expect(await all(records, 'pods')).toEqual({});
    expect(readdirSync(join(root, 'pods'))).toEqual([]);
    expect(readFileSync(join(root, 'damaged', `pods-${recordName('pods', 'k')}`), 'utf8')).toBe('damaged');
  });
});
