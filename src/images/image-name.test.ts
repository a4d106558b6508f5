import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { KubeletError } from '../base/errors.ts';
import { fullImageName, normalizeImageName, parseImageName } from './image-name.ts';

const ending = (text: string): RegExp => new RegExp(`": ${text.replace(/[()]/g, '\\$&')}$`);
const sha = `sha256:${'0a'.repeat(32)}`;

describe('normalizeImageName: valid names', () => {
  test.each([
    ['busybox', 'busybox:latest'],
    ['busybox:1.36', 'busybox:1.36'],
    ['library/busybox', 'library/busybox:latest'],
    ['docker.io/library/busybox:1', 'docker.io/library/busybox:1'],
    ['localhost/app', 'localhost/app:latest'],
    ['localhost:5000/app', 'localhost:5000/app:latest'],
    ['127.0.0.1:5000/a/b_c/d__e/f-g.h:v1', '127.0.0.1:5000/a/b_c/d__e/f-g.h:v1'],
    ['[fd00::1]:5000/app', '[fd00::1]:5000/app:latest'],
    ['Registry.Example/app', 'Registry.Example/app:latest'],
    [`busybox@${sha}`, `busybox@${sha}`],
    [`busybox:1@${sha}`, `busybox:1@${sha}`],
    [`app@sha512:${'0'.repeat(128)}`, `app@sha512:${'0'.repeat(128)}`],
    ['app:Tag_1.2-3', 'app:Tag_1.2-3'],
    [`app:${'t'.repeat(128)}`, `app:${'t'.repeat(128)}`],
    [`example.com/${'a'.repeat(255)}`, `example.com/${'a'.repeat(255)}:latest`],
  ])('%s', (image, want) => expect(normalizeImageName(image)).toBe(want));
});

describe('normalizeImageName: invalid names', () => {
  const id = 'ab'.repeat(32);
  test.each([
    ['', 'invalid reference format'],
    [' busybox', 'invalid reference format'],
    ['busybox:', 'invalid reference format'],
    ['busybox:-x', 'invalid reference format'],
    [`busybox:${'t'.repeat(129)}`, 'invalid reference format'],
    ['a//b', 'invalid reference format'],
    ['/a', 'invalid reference format'],
    ['a/', 'invalid reference format'],
    ['a..b', 'invalid reference format'],
    ['https://example.com/app', 'invalid reference format'],
    ['busybox@sha256:12', 'invalid reference format'],
    ['BusyBox', 'invalid reference format: repository name (library/BusyBox) must be lowercase'],
    ['Not/A/Name', 'invalid reference format: repository name (A/Name) must be lowercase'],
    ['example.com/App:1', 'invalid reference format: repository name (App) must be lowercase'],
    [id, `invalid repository name (${id}), cannot specify 64-byte hexadecimal strings`],
    [`example.com/${'a'.repeat(256)}`, 'repository name must not be more than 255 characters'],
    [`app@sha256:${'0'.repeat(63)}`, 'invalid checksum digest length'],
    [`app@sha256:${'A'.repeat(64)}`, 'invalid checksum digest format'],
    [`app@md5:${'0'.repeat(32)}`, 'unsupported digest algorithm'],
  ])('%j', (image, why) => {
    expect(() => normalizeImageName(image)).toThrow(
      expect.objectContaining({ reason: 'InvalidImageName', message: expect.stringMatching(ending(why)) }),
    );
  });
  test('reports the full message', () =>
    expect(() => normalizeImageName('a b')).toThrow(
      `Failed to apply default image tag "a b": couldn't parse image name "a b": invalid reference format`,
    ));
});

describe('fullImageName', () => {
  test.each([
    ['busybox', 'docker.io/library/busybox:latest'],
    ['team/app', 'docker.io/team/app:latest'],
    ['docker.io/busybox:1', 'docker.io/library/busybox:1'],
    ['index.docker.io/busybox:1', 'docker.io/library/busybox:1'],
    ['localhost/app', 'localhost/app:latest'],
    ['example.com:5000/a/b:1', 'example.com:5000/a/b:1'],
    [`example.com/app:1@${sha}`, `example.com/app@${sha}`],
  ])('%s', (image, want) => expect(fullImageName(image)).toBe(want));
  test('keeps a digest without adding a tag', () => {
    expect(parseImageName(`app:1@${sha}`)).toEqual({
      repository: 'docker.io/library/app',
      tag: '1',
      digest: sha,
    });
    expect(parseImageName(`app@${sha}`).tag).toBeUndefined();
  });
});

describe('hostile names', () => {
  test.each(['a-', 'a.', 'a_', '-', '.', ':', '/', 'a/', '[', 'a', 'A', '@', ' '])(
    'a megabyte of %j',
    (part) => {
      const image = `${part.repeat(1_000_000 / part.length)}!`;
      const err = thrownBy(() => normalizeImageName(image));
      expect(err).toMatchObject({ kind: 'invalid', reason: 'InvalidImageName' });
      expect(String(err).length).toBeLessThan(2_000);
    },
  );
  test('parses or rejects any text', () => {
    const part = fc.constantFrom(
      'a',
      'b.c',
      'A',
      '-',
      '__',
      '.',
      ':',
      '/',
      '@',
      'sha256:',
      '[',
      ']',
      '5000',
      sha,
      ' ',
      'é',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
        const image = parts.join('');
        try {
          expect(normalizeImageName(image).startsWith(image)).toBe(true);
        } catch (err) {
          if (!(err instanceof KubeletError)) throw err;
          expect(err.reason).toBe('InvalidImageName');
        }
      }),
      { seed: 18, numRuns: 5_000 },
    );
  });
});

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (err) {
    return err;
  }
}
