import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { realClock } from '../../base/clock.ts';
import { certificateHost } from './certificate-host.ts';
import { ServingPairFiles } from './serving-pair-files.ts';

const { selfSigned } = certificateHost(realClock);

function place() {
  const dir = mkdtempSync(join(tmpdir(), 'serving-pair-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const paths = { certFile: join(dir, 'pki', 'kubelet.crt'), keyFile: join(dir, 'pki', 'kubelet.key') };
  return { dir, paths, files: new ServingPairFiles(paths, realClock) };
}

const make = (host: string) => selfSigned({ host, ips: [], nowMs: Date.now() });

test('reads what it wrote, with a key that only the kubelet can read', async () => {
  const { dir, files, paths } = place();
  await expect(files.read()).rejects.toThrow(/cannot read/);
  const pair = await make('a');
  await files.write(pair);
  expect(await files.read()).toEqual(pair);
  expect(statSync(paths.keyFile).mode & 0o777).toBe(0o600);
  expect(statSync(paths.certFile).mode & 0o777).toBe(0o644);
  expect(readdirSync(join(dir, 'pki')).toSorted()).toEqual(['kubelet.crt', 'kubelet.key']);
});

test('rejects the mismatched files that a crash leaves', async () => {
  const { files, paths } = place();
  await files.write(await make('a'));
  writeFileSync(paths.keyFile, (await make('b')).key.reveal());
  await expect(files.read()).rejects.toThrow(/kubelet\.crt/);
  rmSync(paths.keyFile);
  await expect(files.read()).rejects.toThrow(/kubelet\.key/);
});

test('reports a change of either file', async () => {
  const { files } = place();
  await files.write(await make('a'));
  let onChange: () => void = () => undefined;
  const watch = files.watch(
    () => onChange(),
    () => undefined,
  );
  onTestFinished(() => watch.close());
  const changed = new Promise<void>((resolve) => {
    onChange = resolve;
  });
  await files.write(await make('b'));
  await changed;
});
