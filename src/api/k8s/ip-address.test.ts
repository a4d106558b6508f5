import { describe, expect, test } from 'vitest';
import {
  isLinkLocal,
  isLoopback,
  isMulticast,
  isUnspecified,
  parseIp,
  strictIpProblem,
} from './ip-address.ts';

const canonical = [
  ['1.2.3.4', '1.2.3.4'],
  ['01.2.3.004', '1.2.3.4'],
  ['0.0.0.0', '0.0.0.0'],
  ['255.255.255.255', '255.255.255.255'],
  ['abcd::ef01', 'abcd::ef01'],
  ['ABCD::EF01', 'abcd::ef01'],
  ['abcd:0abc:00ab:0000:0000::1', 'abcd:abc:ab::1'],
  ['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7:8'],
  ['1:0:3:4:5:6:7:8', '1:0:3:4:5:6:7:8'],
  ['1::3:4:5:6:7:8', '1:0:3:4:5:6:7:8'],
  ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
  ['0:0:0:1:0:0:0:0', '0:0:0:1::'],
  ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
  ['::', '::'],
  ['::1', '::1'],
  ['1::', '1::'],
  ['::ffff:1.2.3.4', '1.2.3.4'],
  ['::ffff:102:304', '1.2.3.4'],
  ['64:ff9b::1.2.3.4', '64:ff9b::102:304'],
  ['::1.2.3.4', '::102:304'],
  ['1:2:3:4:5:6:1.2.3.4', '1:2:3:4:5:6:102:304'],
] as const;

const rejected = [
  '',
  ' ',
  'blah',
  '1.2.3',
  '1.2.3.4.5',
  '1.2.3.256',
  '1.2.3.-4',
  '1.2.3.',
  '1.2.3.4 ',
  '1.2.3.0/24',
  '1.2.3.0x4',
  'fe80::1%eth0',
  ':',
  ':::',
  '1:2',
  '1:2:3:4:5:6:7',
  '1:2:3:4:5:6:7:8:9',
  '1:2:3:4:5:6:7:8::',
  '1::2::3',
  '12345::',
  'g::',
  '1.2.3.4::',
  '::1.2.3',
  '1:2:3:4:5:6:7:1.2.3.4',
  '[::1]',
] as const;

describe('parseIp', () => {
  for (const [text, want] of canonical) {
    test(`parses ${text} as ${want}`, () => {
      expect(parseIp(text)).toMatchObject({ text: want, family: want.includes(':') ? 6 : 4 });
    });
  }
  for (const text of rejected) {
    test(`rejects "${text}"`, () => {
      expect(parseIp(text)).toBeUndefined();
    });
  }
});

const kinds = [
  ['0.0.0.0', ['unspecified']],
  ['::', ['unspecified']],
  ['127.0.0.1', ['loopback']],
  ['127.255.0.9', ['loopback']],
  ['::1', ['loopback']],
  ['224.0.0.1', ['multicast']],
  ['239.255.255.255', ['multicast']],
  ['ff02::1', ['multicast']],
  ['169.254.1.1', ['link-local']],
  ['fe80::1', ['link-local']],
  ['febf::1', ['link-local']],
  ['fec0::1', []],
  ['240.0.0.1', []],
  ['128.0.0.1', []],
  ['169.253.1.1', []],
  ['::2', []],
  ['1::1', []],
] as const;

describe('kinds of addresses', () => {
  for (const [text, want] of kinds) {
    test(`${text} is ${want[0] ?? 'ordinary'}`, () => {
      const ip = parseIp(text);
      if (ip === undefined) throw new Error(`${text} was not read`);
      const is = {
        unspecified: isUnspecified,
        loopback: isLoopback,
        multicast: isMulticast,
        'link-local': isLinkLocal,
      };
      const found = Object.entries(is).flatMap(([name, check]) => (check(ip) ? [name] : []));
      expect(found).toEqual(want);
    });
  }
});

describe('strictIpProblem', () => {
  const zeros = 'must not have leading 0s';
  const mapped = 'must not be an IPv4-mapped IPv6 address';
  const cases = [
    ['10.0.0.1', undefined],
    ['0.0.0.0', undefined],
    ['010.0.0.1', zeros],
    ['10.0.0.01', zeros],
    ['::ffff:1.2.3.4', mapped],
    ['::ffff:102:304', mapped],
    ['::ffff:01.2.3.4', zeros],
    ['fe80::0abc', undefined],
    ['FE80::', undefined],
    ['64:ff9b::1.2.3.4', undefined],
  ] as const;
  for (const [text, want] of cases) test(text, () => expect(strictIpProblem(text)).toBe(want));
});
