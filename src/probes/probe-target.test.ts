import { describe, expect, test } from 'vitest';
import { aContainer } from '../../test/builders/builders.ts';
import type { HTTPHeader, Probe } from '../api/k8s/types.ts';
import { probeHeaders, probeTarget } from './probe-target.ts';

const container = aContainer({
  name: 'c',
  ports: [{ name: 'web', containerPort: 8080 }],
  env: [
    { name: 'A', value: 'x' },
    { name: 'FROM', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
  ],
});
const target = (probe: Probe): unknown => probeTarget(probe, container, '10.0.0.9', 'ns/p');

describe('probeTarget', () => {
  const http = {
    scheme: 'http',
    host: '10.0.0.9',
    port: 8080,
    path: '/x?y',
    headers: [
      ['User-Agent', 'kube-probe/1.37'],
      ['Accept', '*/*'],
    ],
    timeoutMs: 1_000,
  };
  const cases: readonly (readonly [string, Probe, unknown])[] = [
    [
      'a command, with the literal part of its environment',
      { exec: { command: ['sh', '$(A)', '$$(A)', '$(FROM)', '$(NO)'] }, timeoutSeconds: 3 },
      { by: 'exec', command: ['sh', 'x', '$(A)', '', '$(NO)'], timeoutSeconds: 3 },
    ],
    ['a port by name', { httpGet: { port: 'web', path: '/x?y' } }, { by: 'http', request: http }],
    [
      'a host and a scheme of its own',
      { httpGet: { port: '81', path: '/x?y', host: 'h', scheme: 'HTTPS' }, timeoutSeconds: 2 },
      { by: 'http', request: { ...http, scheme: 'https', host: 'h', port: 81, timeoutMs: 2_000 } },
    ],
    [
      'tcp goes to the pod',
      { tcpSocket: { port: 'web' } },
      { by: 'tcp', request: { host: '10.0.0.9', port: 8080, timeoutMs: 1_000 } },
    ],
    [
      'tcp with a host',
      { tcpSocket: { port: 5, host: '::1' } },
      { by: 'tcp', request: { host: '::1', port: 5, timeoutMs: 1_000 } },
    ],
    [
      'grpc with a service',
      { grpc: { port: 9, service: 's' } },
      { by: 'grpc', request: { host: '10.0.0.9', port: 9, service: 's', timeoutMs: 1_000 } },
    ],
  ];
  for (const [name, probe, want] of cases) test(name, () => expect(target(probe)).toEqual(want));

  const faults: readonly (readonly [Probe, string])[] = [
    [{}, 'missing probe handler for ns/p:c'],
    [{ httpGet: { port: 'other' } }, 'strconv.Atoi: parsing "other": invalid syntax'],
    [{ tcpSocket: { port: 0 } }, 'invalid port number: 0'],
    [{ tcpSocket: { port: '65536' } }, 'invalid port number: 65536'],
  ];
  for (const [probe, message] of faults) test(message, () => expect(() => target(probe)).toThrow(message));
});

test('a pod without an IP address: only commands and probes with a host can run', () => {
  const homeless = (probe: Probe): string => probeTarget(probe, container, undefined, 'ns/p').by;
  expect(homeless({ exec: { command: ['a'] } })).toBe('exec');
  expect(homeless({ tcpSocket: { port: 1, host: 'h' } })).toBe('tcp');
  for (const probe of [{ tcpSocket: { port: 1 } }, { grpc: { port: 1 } }, { httpGet: { port: 1 } }])
    expect(() => homeless(probe)).toThrow('the pod has no address');
});

describe('probeHeaders', () => {
  const headers = (...httpHeaders: HTTPHeader[]): unknown => probeHeaders({ port: 1, httpHeaders });
  test('keeps the given headers, in order and repeated', () => {
    const given = [
      { name: 'X', value: '1' },
      { name: 'user-agent', value: 'me' },
      { name: 'X', value: '2' },
      { name: 'ACCEPT', value: 'text/html' },
    ];
    expect(headers(...given)).toEqual(given.map(({ name, value }) => [name, value]));
  });
  test('omits an empty Accept', () => {
    expect(headers({ name: 'Accept', value: '' })).toEqual([['User-Agent', 'kube-probe/1.37']]);
  });
});

test('rejects a command that expands to more than Linux executes', () => {
  const large = aContainer({ env: [{ name: 'A', value: 'x'.repeat(1024 * 1024) }] });
  const probe = { exec: { command: ['echo', '$(A)'.repeat(3), '$(A)'.repeat(1_000)] } };
  expect(() => probeTarget(probe, large, undefined, 'ns/p')).toThrow(
    'the command takes more than 6291456 bytes after expanding $(VAR) references',
  );
});
