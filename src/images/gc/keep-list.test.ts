import { expect, test } from 'vitest';
import type { ListedImage } from './image-records.ts';
import { keepList } from './keep-list.ts';

const id = `sha256:${'a'.repeat(64)}`;
const digest = `sha256:${'d'.repeat(64)}`;

function listed(...names: readonly string[]): ListedImage {
  return { key: id, id, handler: '', names, sizeBytes: 1, pinned: false };
}

const nginx = listed('docker.io/library/nginx:1.27', `docker.io/library/nginx@${digest}`);
const team = listed('docker.io/team/app:1');
const local = listed('registry.local:5000/tools/debug:v2');

test.each<[string, ListedImage, boolean]>([
  ['nginx:1.27', nginx, true],
  ['docker.io/library/nginx:1.27', nginx, true],
  ['index.docker.io/nginx:1.27', nginx, true],
  ['nginx:1.26', nginx, false],
  ['nginx', nginx, true],
  ['docker.io/nginx', nginx, true],
  ['ngin', nginx, false],
  [`nginx@${digest}`, nginx, true],
  [`nginx@sha256:${'e'.repeat(64)}`, nginx, false],
  [id, nginx, true],
  [id.slice(7), nginx, true],
  ['sha256:aaaa*', nginx, true],
  ['ngi*', nginx, true],
  ['nginx:*', nginx, true],
  ['docker.io/ngi*', nginx, true],
  ['docker.io/library/*', nginx, true],
  ['docker.io/library/*', team, false],
  ['docker.io/*', team, true],
  ['index.docker.io/team/*', team, true],
  ['team/*', team, true],
  ['team/app', team, true],
  ['*', team, true],
  ['registry.local:5000/*', local, true],
  ['registry.loc*', local, true],
  ['registry.local:5000/tools/debug', local, true],
  ['registry.local:5000/tools', local, false],
  ['tools/debug', local, false],
  ['NOT a name', local, false],
])('%s keeps the image', (entry, image, kept) => {
  expect(keepList([entry])(image)).toBe(kept);
  expect(keepList(['unrelated.example/x', entry])(image)).toBe(kept);
});

test('an image without names is kept by its ID only', () => {
  expect(keepList([])(listed())).toBe(false);
  expect(keepList(['nginx', 'team/*'])(listed())).toBe(false);
  expect(keepList([id])(listed())).toBe(true);
});

test('names of any length are compared', () => {
  const long = `${'a/'.repeat(100_000)}b`;
  expect(keepList([long])(listed(long))).toBe(true);
  expect(keepList([`${long}*`])(listed(`${long}c`))).toBe(true);
  expect(keepList(['a-'.repeat(2_000)])(listed(long))).toBe(false);
});
