import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeSelfSigned, newKey } from './make-x509.ts';
import { PairStore, PendingKeyFile } from './pair-store.ts';
import { isKey } from './read-x509.ts';

const make = (host: string) => makeSelfSigned({ host, ips: [], nowMs: Date.now() });

function place() {
  const directory = mkdtempSync(join(tmpdir(), 'pair-store-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  let second = 0;
  const now = () => new Date(2026, 10, 17, 2, 3, second++);
  const open = (over = {}) => new PairStore({ directory, prefix: 'kubelet-client', now, ...over });
  return { directory, store: open(), open, link: join(directory, 'kubelet-client-current.pem') };
}

async function nameIn(store: PairStore): Promise<string | undefined> {
  return (await store.current())?.facts.dnsNames[0];
}

test('stores each pair in one file that only the kubelet can read, and links to the latest', async () => {
  const { directory, link, store } = place();
  expect(await store.current()).toBeUndefined();
  const one = await make('one');
  await store.update(one.certPem, one.key);
  const two = await make('two');
  await store.update(two.certPem, two.key);
  expect(readdirSync(directory).toSorted()).toEqual([
    'kubelet-client-2026-11-17-02-03-00.pem',
    'kubelet-client-2026-11-17-02-03-01.pem',
    'kubelet-client-current.pem',
  ]);
  expect(readlinkSync(link)).toBe(join(directory, 'kubelet-client-2026-11-17-02-03-01.pem'));
  expect(statSync(link).mode & 0o777).toBe(0o600);
  expect(readFileSync(link, 'utf8')).toBe(two.certPem + two.key.reveal());
  expect(await nameIn(store)).toBe('two');
});

test('rejects a mismatched pair and changes nothing', async () => {
  const { directory, store } = place();
  const [one, two] = [await make('one'), await make('two')];
  await store.update(one.certPem, one.key);
  await expect(store.update(two.certPem, one.key)).rejects.toThrow(/belongs to another/);
  await expect(store.update('half', one.key)).rejects.toThrow(/no certificate/);
  expect(await nameIn(store)).toBe('one');
  expect(readdirSync(directory)).toHaveLength(2);
});

test('recovers from a crash between file and symlink, and between the two symlinks', async () => {
  const { directory, link, open, store } = place();
  const one = await make('one');
  await store.update(one.certPem, one.key);
  // A second file without its symlink.
  writeFileSync(join(directory, 'kubelet-client-2026-11-17-02-09-00.pem'), 'half a file');
  expect(await nameIn(open())).toBe('one');
  // As upstream leaves it: the old symlink is removed, the new one not yet renamed.
  symlinkSync(readlinkSync(link), join(directory, 'kubelet-client-updated.pem'));
  rmSync(link);
  expect(await nameIn(open())).toBe('one');
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
});

test('treats a dangling symlink as no certificate, reports a broken file with its path, and replaces both', async () => {
  const { directory, link, store } = place();
  symlinkSync(join(directory, 'gone.pem'), link);
  expect(await store.current()).toBeUndefined();
  const one = await make('one');
  await store.update(one.certPem, one.key);
  expect(await nameIn(store)).toBe('one');
  writeFileSync(readlinkSync(link), one.certPem.slice(0, 90));
  await expect(store.current()).rejects.toThrow(/kubelet-client-current\.pem cannot be used/);
  const two = await make('two');
  await store.update(two.certPem, two.key);
  expect(await nameIn(store)).toBe('two');
});

test('keeps a regular file in place of the symlink', async () => {
  const { link, store } = place();
  writeFileSync(link, 'mine');
  const one = await make('one');
  await expect(store.update(one.certPem, one.key)).rejects.toThrow(
    /expected .* to be a symlink but it is a file/,
  );
  expect(readFileSync(link, 'utf8')).toBe('mine');
});

test('reads the configured files, or else those of older kubelets, when there is no symlink', async () => {
  const { directory, open } = place();
  const [named, older] = [await make('named'), await make('older')];
  const write = (name: string, pair: typeof named): void => {
    writeFileSync(join(directory, `${name}.crt`), pair.certPem);
    writeFileSync(join(directory, `${name}.key`), pair.key.reveal());
  };
  write('kubelet-client', older);
  expect(await nameIn(open())).toBe('older');
  mkdirSync(join(directory, 'else'));
  write('else/named', named);
  const files = { certFile: join(directory, 'else/named.crt'), keyFile: join(directory, 'else/named.key') };
  expect(await nameIn(open(files))).toBe('named');
  const combined = join(directory, 'both.pem');
  writeFileSync(combined, named.certPem + named.key.reveal());
  expect(await nameIn(open({ certFile: combined, keyFile: combined }))).toBe('named');
});

test('keeps a pending key over restarts until it is dropped, and replaces a broken one', async () => {
  const { directory } = place();
  const path = join(directory, 'kubelet-client.key.tmp');
  const open = () => new PendingKeyFile(path, newKey, isKey);
  const first = (await open().take()).reveal();
  expect((await open().take()).reveal()).toBe(first);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  writeFileSync(path, first.slice(0, 40));
  const second = (await open().take()).reveal();
  expect(second).not.toBe(first);
  await open().drop();
  expect((await open().take()).reveal()).not.toBe(second);
});
