import { describe, expect, test } from 'vitest';
import { aPod, type PodOver } from '../../../test/builders/builders.ts';
import { type DnsSettings, podDns } from './dns.ts';
import { parseResolvConf, type ResolverSettings } from './resolv-conf.ts';

const cluster: DnsSettings = { clusterDns: ['10.96.0.10'], clusterDomain: 'cluster.local' };
const host: ResolverSettings = { servers: ['192.0.2.1'], searches: ['corp.example'], options: ['timeout:1'] };
const clusterSearches = ['ns.svc.cluster.local', 'svc.cluster.local', 'cluster.local'];
const ofCluster = {
  servers: ['10.96.0.10'],
  searches: [...clusterSearches, 'corp.example'],
  options: ['ndots:5'],
};
const localhost = { servers: ['127.0.0.1'], searches: ['.'], options: [] };
const extra = {
  nameservers: ['192.0.2.1', '198.51.100.1'],
  searches: ['corp.example', 'b.example'],
  options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }],
};

const cases: readonly (readonly [
  string,
  PodOver,
  Partial<DnsSettings>,
  ResolverSettings | undefined,
  object,
])[] = [
  ['ClusterFirst', {}, {}, host, ofCluster],
  ['ClusterFirst on the host network → the node', { hostNetwork: true }, {}, host, host],
  [
    'ClusterFirstWithHostNet on the host network',
    { hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' },
    {},
    host,
    ofCluster,
  ],
  ['ClusterFirst without cluster DNS → the node', {}, { clusterDns: [] }, host, host],
  ['Default', { dnsPolicy: 'Default' }, {}, host, host],
  ['None without dnsConfig', { dnsPolicy: 'None' }, {}, host, { servers: [], searches: [], options: [] }],
  [
    'None with dnsConfig',
    { dnsPolicy: 'None', dnsConfig: extra },
    {},
    host,
    { servers: extra.nameservers, searches: extra.searches, options: ['ndots:2', 'edns0'] },
  ],
  [
    'Default with dnsConfig: merged without duplicates',
    { dnsPolicy: 'Default', dnsConfig: extra },
    {},
    host,
    {
      servers: ['192.0.2.1', '198.51.100.1'],
      searches: ['corp.example', 'b.example'],
      options: ['timeout:1', 'ndots:2', 'edns0'],
    },
  ],
  [
    'ClusterFirst with dnsConfig: options replaced by name',
    { dnsConfig: extra },
    {},
    host,
    {
      servers: ['10.96.0.10', '192.0.2.1', '198.51.100.1'],
      searches: [...clusterSearches, 'corp.example', 'b.example'],
      options: ['ndots:2', 'edns0'],
    },
  ],
  ['no cluster domain', {}, { clusterDomain: '' }, host, { ...ofCluster, searches: ['corp.example'] }],
  ['no resolv.conf → localhost', { dnsPolicy: 'Default' }, {}, undefined, localhost],
  [
    'no resolv.conf → localhost by the families of the node',
    { dnsPolicy: 'Default' },
    { nodeIps: ['fd00::1', '192.0.2.9'] },
    undefined,
    { ...localhost, servers: ['::1', '127.0.0.1'] },
  ],
  ['no resolv.conf, ClusterFirst', {}, {}, undefined, { ...ofCluster, searches: clusterSearches }],
  [
    'at most three servers',
    { dnsPolicy: 'Default' },
    {},
    { ...host, servers: ['1.1.1.1', '2.2.2.2', '3.3.3.3', '4.4.4.4'] },
    { ...host, servers: ['1.1.1.1', '2.2.2.2', '3.3.3.3'] },
  ],
  [
    'omits a search domain that is too long',
    { dnsPolicy: 'Default' },
    {},
    { ...host, searches: ['a'.repeat(254), 'b.example'] },
    { ...host, searches: ['b.example'] },
  ],
];
for (const [name, over, settings, from, want] of cases) {
  test(`podDns: ${name}`, () =>
    expect(podDns(aPod({ namespace: 'ns', ...over }), { ...cluster, ...settings }, from)).toEqual(want));
}

test('limits search domains to 32 and to 2048 characters', () => {
  const of = (searches: string[]): number =>
    podDns(aPod({ dnsPolicy: 'Default' }), cluster, { ...host, searches }).searches?.length ?? 0;
  expect(of(Array.from({ length: 40 }, (_, i) => `d${i}`))).toBe(32);
  expect(of(Array.from({ length: 20 }, (_, i) => `${i}`.padStart(127, 'x')))).toBe(16);
});

describe('parseResolvConf', () => {
  const none = { servers: [], searches: [], options: [] };
  test.each([
    ['', none],
    ['# nameserver 1.1.1.1\n; x', none],
    ['nameserver 1.1.1.1\n nameserver\t2.2.2.2 junk\n', { ...none, servers: ['1.1.1.1', '2.2.2.2'] }],
    ['search a.example\nsearch b.example. . c\n', { ...none, searches: ['b.example', 'c'] }],
    ['options ndots:1 edns0\noptions ndots:3', { ...none, options: ['ndots:3', 'edns0'] }],
  ])('%j', (text, want) => expect(parseResolvConf(text)).toEqual(want));
  test('rejects an empty nameserver line', () =>
    expect(() => parseResolvConf('nameserver \n')).toThrow('nameserver line'));
});
