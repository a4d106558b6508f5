import { describe, expect, test } from 'vitest';
import { hasLatestTag } from './image-tag.ts';

const sha256 = `sha256:${'a'.repeat(64)}`;

describe('has the tag latest', () => {
  const latest = [
    'busybox',
    'busybox:latest',
    'library/busybox',
    'docker.io/library/busybox',
    'gcr.io/a/b/c',
    'localhost/x',
    'localhost:5000/x',
    'UPPER/x',
    '[::1]:5000/x',
    'a__b/c-d.e_f',
    `busybox:latest@${sha256}`,
    'host:5000/x:latest',
  ];
  for (const image of latest) test(image, () => expect(hasLatestTag(image)).toBe(true));
});

describe('does not have the tag latest', () => {
  const other = [
    'busybox:1',
    'host:5000/x:1',
    `busybox@${sha256}`,
    `busybox:1@${sha256}`,
    '',
    ' busybox',
    'Busybox',
    'a/Busybox',
    'busybox:',
    'a:b:c',
    'a//b',
    '/a',
    'a/',
    'a@b',
    `busybox@sha256:${'A'.repeat(64)}`,
    `busybox@sha256:${'a'.repeat(63)}`,
    `busybox@md5:${'a'.repeat(32)}`,
    'a'.repeat(256),
    `busybox:${'x'.repeat(129)}`,
    'f'.repeat(64),
  ];
  for (const image of other)
    test(JSON.stringify(image.slice(0, 80)), () => expect(hasLatestTag(image)).toBe(false));
});
