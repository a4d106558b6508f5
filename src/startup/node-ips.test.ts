import { describe, expect, test } from 'vitest';
import { nodeIpProblem, parseNodeIps } from './node-ips.ts';

const accepted = [
  ['nothing', '', [], []],
  ['only blanks', ' ', [], ['']],
  ['garbage', 'blah', [], ['blah']],
  ['an IPv4 address', '1.2.3.4', ['1.2.3.4'], []],
  ['with blanks around', ' 1.2.3.4   ', ['1.2.3.4'], []],
  ['with leading zeros', '01.2.3.004', ['1.2.3.4'], []],
  ['part of an address', '1.2.3', [], ['1.2.3']],
  ['a network', '1.2.3.0/24', [], ['1.2.3.0/24']],
  ['0.0.0.0, which selects IPv4', '0.0.0.0', ['0.0.0.0'], []],
  ['::, which selects IPv6', '::', ['::'], []],
  ['an address and garbage', '1.2.3.4,not-an-address', ['1.2.3.4'], ['not-an-address']],
  ['an IPv6 address', 'abcd::ef01', ['abcd::ef01'], []],
  ['an IPv6 address in another form', 'abcd:0abc:00ab:0000:0000::1', ['abcd:abc:ab::1'], []],
  ['an address with a zone', 'fe80::1%eth0', [], ['fe80::1%eth0']],
] as const;

const pairs = [
  ['a pair, IPv4 first', '1.2.3.4,abcd::ef01', ['1.2.3.4', 'abcd::ef01'], []],
  ['a pair, IPv6 first, with blanks', 'abcd::ef01 , 1.2.3.4', ['abcd::ef01', '1.2.3.4'], []],
  [
    'a pair and garbage',
    'abcd::ef01 , 1.2.3.4, something else',
    ['abcd::ef01', '1.2.3.4'],
    ['something else'],
  ],
] as const;

const rejected = [
  ['two of IPv4', '1.2.3.4,5.6.7.8', 'one IPv4 and one IPv6'],
  ['two of IPv6', 'abcd::1,abcd::2', 'one IPv4 and one IPv6'],
  ['IPv4 twice, once as IPv6', '1.2.3.4,::ffff:5.6.7.8', 'one IPv4 and one IPv6'],
  ['three', '1.2.3.4,abcd::1,5.6.7.8', 'one IPv4 and one IPv6'],
] as const;

const unspecified = [
  ['a pair with ::', '1.2.3.4,::', 'are not allowed in a pair'],
  ['a pair with 0.0.0.0', '0.0.0.0,abcd::1', 'are not allowed in a pair'],
  ['both unspecified', '0.0.0.0,::', 'are not allowed in a pair'],
] as const;

describe('parseNodeIps', () => {
  for (const cloudProvider of ['', 'external', 'gce']) {
    const suffix = `--cloud-provider=${cloudProvider}`;
    for (const [name, flag, ips, ignored] of accepted) {
      test(`${name}, ${suffix}`, () => {
        expect(parseNodeIps(flag, { cloudProvider })).toEqual({ ips, ignored });
      });
    }
    for (const [name, flag, problem] of rejected) {
      test(`rejects ${name}, ${suffix}`, () => {
        expect(() => parseNodeIps(flag, { cloudProvider })).toThrow(problem);
      });
    }
    for (const [name, flag, ips, ignored] of pairs) {
      test(`${name}, ${suffix}`, () => {
        const parse = () => parseNodeIps(flag, { cloudProvider });
        if (cloudProvider === 'gce')
          expect(parse).toThrow('dual-stack is not supported with --cloud-provider=gce');
        else expect(parse()).toEqual({ ips, ignored });
      });
    }
    for (const [name, flag, problem] of unspecified) {
      test(`rejects ${name}, ${suffix}`, () => {
        expect(() => parseNodeIps(flag, { cloudProvider })).toThrow(
          cloudProvider === 'gce' ? 'dual-stack is not supported' : problem,
        );
      });
    }
  }

  test('the error names the flag and its value', () => {
    expect(() => parseNodeIps('1.1.1.1,2.2.2.2', { cloudProvider: '' })).toThrow(
      expect.objectContaining({
        kind: 'invalid',
        message: 'invalid --node-ip "1.1.1.1,2.2.2.2": must be one address, or one IPv4 and one IPv6 address',
      }),
    );
  });
});

const host = ['127.0.0.1', '10.0.0.5', '::1', 'fe80::1%eth0', 'FD00::0005', '169.254.3.4'];
const problems = [
  ['10.0.0.5', undefined],
  ['fd00::5', undefined],
  ['10.0.0.6', 'not assigned to any network interface'],
  ['127.0.0.1', 'loopback'],
  ['::1', 'loopback'],
  ['224.0.0.1', 'multicast'],
  ['fe80::1', 'link-local'],
  ['169.254.3.4', 'link-local'],
  ['0.0.0.0', 'unspecified'],
  ['::', 'unspecified'],
  ['x', 'not an IP address'],
] as const;

describe('nodeIpProblem', () => {
  for (const [ip, want] of problems) {
    test(`${ip}: ${want ?? 'fine'}`, () => {
      if (want === undefined) expect(nodeIpProblem(ip, host)).toBeUndefined();
      else expect(nodeIpProblem(ip, host)).toContain(want);
    });
  }
});
