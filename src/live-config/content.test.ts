import { expect, test } from 'vitest';
import { checksumOf, parseContent, RecordingFiles, recordedFiles, type SourceFiles } from './content.ts';

function files(texts: Readonly<Record<string, string>>): SourceFiles {
  return {
    workingDirectory: '/',
    read: async (path) => {
      const text = texts[path];
      if (text === undefined) throw new Error(`ENOENT: ${path}`);
      return text;
    },
    list: async (directory) =>
      Object.keys(texts)
        .filter((path) => path.startsWith(`${directory}/`))
        .map((path) => ({ name: path.slice(directory.length + 1), isDirectory: false })),
  };
}

async function record(source: SourceFiles, directory: string, suffix = ''): Promise<RecordingFiles> {
  const recording = new RecordingFiles(source);
  for (const { name } of await recording.list(directory))
    if (name.endsWith(suffix)) await recording.read(`${directory}/${name}`);
  return recording;
}

test('what was recorded is read again, with the same checksum', async () => {
  const first = (await record(files({ '/d/b.conf': 'b', '/d/a.conf': 'a' }), '/d')).content();
  const saved = parseContent(JSON.parse(JSON.stringify(first)));
  if (saved === undefined) throw new Error('not parsed');
  const second = (await record(recordedFiles(saved, '/'), '/d')).content();
  expect(second).toEqual(first);
  expect(checksumOf(second)).toBe(checksumOf(first));
  await expect(recordedFiles(saved, '/').read('/d/c.conf')).rejects.toThrow('not part of the recorded');
  await expect(recordedFiles(saved, '/').read('constructor')).rejects.toThrow('not part of the recorded');
});

test('the checksum depends on texts, names and failures, not on the order', async () => {
  const sums = await Promise.all(
    [
      { '/d/a': 'x', '/d/b': 'y' },
      { '/d/b': 'y', '/d/a': 'x' },
      { '/d/a': 'xy' },
      { '/d/b': 'x', '/d/a': 'y' },
    ].map(async (texts) => checksumOf((await record(files(texts), '/d')).content())),
  );
  expect(sums[0]).toBe(sums[1]);
  expect(new Set(sums).size).toBe(3);
  const failing = new RecordingFiles(files({}));
  await expect(failing.read('/missing')).rejects.toThrow('ENOENT');
  expect(checksumOf(failing.content())).not.toBe(checksumOf(new RecordingFiles(files({})).content()));
});

test('a file that loading passes over, as editors leave them, is no other content', async () => {
  const texts = { '/d/a.conf': 'x' };
  const [before, after] = await Promise.all(
    [texts, { ...texts, '/d/.a.conf.swp': 'half', '/d/a.conf~': 'old' }].map(async (each) =>
      (await record(files(each), '/d', '.conf')).content(),
    ),
  );
  expect(after).toEqual(before);
});

test('rejects more than a mebibyte in all', async () => {
  const texts = Object.fromEntries(Array.from({ length: 5 }, (_, at) => [`/d/${at}`, 'x'.repeat(250_000)]));
  await expect(record(files(texts), '/d')).rejects.toThrow('more than 1048576 bytes');
});

test.each([
  [null],
  ['text'],
  [{ files: { a: 1 }, directories: {}, failures: {} }],
  [{ files: {}, directories: { d: [{ name: 'a' }] }, failures: {} }],
  [{ files: {}, directories: {} }],
])('%j is no content', (value) => {
  expect(parseContent(value)).toBeUndefined();
});
