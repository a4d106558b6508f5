import { expect, test } from 'vitest';
import { grpcTarget, isLoopback } from './grpc-target.ts';

const cases = [
  ['a host and port', 'collector:4318', 'dns:collector:4318'],
  ['a host without a port', 'collector', 'dns:collector:4317'],
  ['an IPv4 address', '192.0.2.1:1', 'dns:192.0.2.1:1'],
  ['an IPv6 address', '[2001:db8::1]:1', 'dns:[2001:db8::1]:1'],
  ['an IPv6 address without a port', '[2001:db8::1]', 'dns:[2001:db8::1]:4317'],
  ['a host that is named like a scheme', 'dns:4317', 'dns:dns:4317'],
  ['a dns URL', 'dns:///collector:1', 'dns:collector:1'],
  ['a dns URL without a port', 'dns:///collector', 'dns:collector:4317'],
  ['a dns URL with a DNS server', 'dns://192.0.2.53/collector:1', 'dns://192.0.2.53/collector:1'],
  ['a dns URL with the host in place of the server', 'dns://collector:1', 'dns:collector:1'],
  ['dns without slashes', 'dns:collector:1', 'dns:collector:1'],
  ['a unix URL', 'unix:///run/otel.sock', 'unix:/run/otel.sock'],
  ['unix with a path', 'unix:/run/otel.sock', 'unix:/run/otel.sock'],
  ['a unix-abstract URL, whose name begins with a slash', 'unix-abstract:///otel', 'unix:\0/otel'],
  ['unix-abstract with a name', 'unix-abstract:otel', 'unix:\0otel'],
] as const;

for (const [name, endpoint, target] of cases)
  test(`grpcTarget: ${name}`, () => expect(grpcTarget(endpoint)).toBe(target));

const hosts = [
  ['localhost:1', true],
  ['127.0.0.1:1', true],
  ['[::1]:1', true],
  ['localhost.example.com:1', false],
  ['192.0.2.1:1', false],
  ['dns://192.0.2.53/collector:1', false],
] as const;

for (const [endpoint, expected] of hosts)
  test(`isLoopback: ${endpoint}`, () => expect(isLoopback(grpcTarget(endpoint))).toBe(expected));
