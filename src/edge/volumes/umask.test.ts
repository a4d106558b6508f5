// Directories and files of volumes get the requested modes, whatever the umask of the kubelet. The umask belongs to the whole
// process, so each case runs in a separate process.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';

const run = promisify(execFile);
const here = resolve(import.meta.dirname);

const program = `
import { lstatSync, mkdtempSync, readlinkSync, rmSync } from 'node:fs';
import { VolumeFiles } from ${JSON.stringify(join(here, 'volume-files.ts'))};
import { diskCalls, memoryCalls } from ${JSON.stringify(join(here, 'file-calls.ts'))};
import { writeContent } from ${JSON.stringify(join(here, 'write-content.ts'))};
const root = mkdtempSync(process.argv[2] + '/umask-');
const files = new VolumeFiles({ podsDir: root, now: () => 0 });
const mode = (path) => (lstatSync(root + '/' + path).mode & 0o7777).toString(8);
await files.makeDirectory(root + '/u/volumes/v', 0o777);
await files.makeFile(root + '/u/plugins/ready', 0o644);
const content = new Map([
  ['open', { data: Buffer.from('x'), mode: 0o666 }],
  ['sub/closed', { data: Buffer.from('y'), mode: 0o400 }],
]);
const found = { volume: mode('u/volumes/v'), mark: mode('u/plugins/ready') };
for (const [name, calls] of [['pool', diskCalls], ['sync', memoryCalls]]) {
  const path = root + '/u/volumes/' + name;
  await files.makeDirectory(path, 0o755);
  await writeContent(path, content, { calls, isNew: true, now: () => 0, setOwnership: async () => {} });
  const data = 'u/volumes/' + name + '/' + readlinkSync(path + '/..data');
  found[name] = [mode(data), mode(data + '/open'), mode(data + '/sub'), mode(data + '/sub/closed')];
}
console.log(JSON.stringify(found));
rmSync(root, { recursive: true });
`;

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'umask-'));
  await build({
    stdin: { contents: program, resolveDir: here },
    outfile: join(dir, 'program.mjs'),
    bundle: true,
    external: ['koffi'],
    platform: 'node',
    format: 'esm',
    logLevel: 'warning',
  });
});
afterAll(async () => await rm(dir, { recursive: true }));

for (const umask of ['000', '022', '077'])
  test(`creates the requested modes under umask ${umask}`, async () => {
    const script = `umask ${umask} && exec "$0" "$1" "$2"`;
    const { stdout } = await run('sh', ['-c', script, process.execPath, join(dir, 'program.mjs'), dir]);
    const content = ['755', '666', '755', '400'];
    expect(JSON.parse(stdout)).toEqual({ volume: '777', mark: '644', pool: content, sync: content });
  });
