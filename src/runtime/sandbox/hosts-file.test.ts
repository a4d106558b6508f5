import { expect, test } from 'vitest';
import { nodeHostsFile, podHostsFile } from './hosts-file.ts';

const aliases = [
  { ip: '10.1.2.3', hostnames: ['a', 'b'] },
  { ip: '10.1.2.4', hostnames: ['c'] },
];
const head = [
  '# Kubernetes-managed hosts file.',
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
];

test('writes the hosts file of a pod', () => {
  const podIps = ['10.0.0.1', 'fd00::1'];
  expect(podHostsFile({ podIps, hostname: 'h', domain: '', aliases: [] })).toBe(
    [...head, '10.0.0.1\th', 'fd00::1\th', ''].join('\n'),
  );
  expect(podHostsFile({ podIps: ['10.0.0.1'], hostname: 'h', domain: 's.ns.svc.x', aliases })).toBe(
    [
      ...head,
      '10.0.0.1\th.s.ns.svc.x\th',
      '',
      '# Entries added by HostAliases.',
      '10.1.2.3\ta\tb',
      '10.1.2.4\tc',
      '',
    ].join('\n'),
  );
});

test('writes the hosts file of a pod with hostNetwork', () => {
  expect(nodeHostsFile('127.0.0.1 x\n', [])).toBe(
    '# Kubernetes-managed hosts file (host network).\n127.0.0.1 x\n',
  );
  expect(nodeHostsFile('', aliases)).toContain('\n\n# Entries added by HostAliases.\n10.1.2.3\ta\tb\n');
});
