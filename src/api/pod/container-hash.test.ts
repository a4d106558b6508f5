import { describe, expect, test } from 'vitest';
import { goJsonString } from '../k8s/go-json.ts';
import { containerHash, containerHashText } from './container-hash.ts';
import { fnv1a32 } from './fnv.ts';

describe('containerHashText', () => {
  // Recorded on containers of the Go kubelet.
  const known = [
    ['test_container', 'foo/image:v1', '8e45cbd0'],
    ['foo', 'bar', '11a6d6d6'],
    ['c', 'docker.io/library/busybox:1', 'f59062ef'],
    ['ok', 'docker.io/library/busybox:1', 'bcad2800'],
    ['i1', 'docker.io/library/busybox:1', 'b9dfb052'],
    ['i2', 'docker.io/library/busybox:1', '1966f0ac'],
    ['a', 'docker.io/library/busybox:1', '4442a01'],
    ['b', 'docker.io/library/busybox:1', '78243be4'],
    ['side', 'docker.io/library/busybox:1', '452be23d'],
    ['main', 'docker.io/library/busybox:1', 'ca15933b'],
  ] as const;
  test.each(known)('%s with image %s', (name, image, want) => {
    expect(containerHashText({ name, image })).toBe(want);
  });

  test('ignores all fields but name and image', () => {
    const spec = { name: 'app', image: 'a:1', command: ['sleep'], env: [{ name: 'A' }] };
    expect(containerHash(spec)).toBe(containerHash({ name: 'app', image: 'a:1' }));
  });

  test('treats a missing image as empty', () => {
    expect(containerHash({ name: 'app' })).toBe(containerHash({ name: 'app', image: '' }));
    expect(containerHash({ name: 'app' })).not.toBe(containerHash({ name: 'app', image: 'a' }));
  });
});

describe('goJsonString', () => {
  const cases = [
    ['plain', 'abc', '"abc"'],
    ['quotes and backslashes', 'a"b\\c', '"a\\"b\\\\c"'],
    ['HTML', '<a&b>', '"\\u003ca\\u0026b\\u003e"'],
    ['line separators', 'a\u2028b\u2029', '"a\\u2028b\\u2029"'],
    ['control characters', '\b\f\n\r\t\u0001\u001f', '"\\b\\f\\n\\r\\t\\u0001\\u001f"'],
    ['DEL is not escaped', '\u007f', '"\u007f"'],
    ['non-ASCII letters are not escaped', 'é漢😀', '"é漢😀"'],
    ['a lone surrogate', 'a\ud800b', '"a\ufffdb"'],
  ] as const;
  test.each(cases)('%s', (_name, text, want) => {
    expect(goJsonString(text)).toBe(want);
  });
});

describe('fnv1a32', () => {
  const cases = [
    ['', 0x811c9dc5],
    ['a', 0xe40c292c],
    ['foobar', 0xbf9cf968],
  ] as const;
  test.each(cases)('%j', (text, want) => {
    expect(fnv1a32(text)).toBe(want);
    expect(fnv1a32(new TextEncoder().encode(text))).toBe(want);
  });

  test('hashes in pieces', () => {
    expect(fnv1a32('bar', fnv1a32('foo'))).toBe(fnv1a32('foobar'));
  });
});
