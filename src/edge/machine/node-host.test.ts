import { release } from 'node:os';
import { expect, test } from 'vitest';
import { nodeHost } from './node-host.ts';

test('reads the identity of this host', async () => {
  const identity = await nodeHost.identity();
  expect(identity.bootID).toMatch(/^[0-9a-f-]{36}$/);
  expect(identity.kernelVersion).toBe(release());
  expect(identity.osImage).not.toBe('');
  expect(identity.systemUUID).not.toBe('');
});

test('returns the other addresses if the name does not resolve', async () => {
  const { hostAddresses, nameAddresses } = await nodeHost.network('no-such-name.invalid');
  expect(nameAddresses).toEqual([]);
  expect(hostAddresses).toContain('127.0.0.1');
});

test('returns the other addresses if the DNS server does not respond', async () => {
  const never = (): Promise<readonly string[]> => new Promise(() => undefined);
  const { hostAddresses, nameAddresses } = await nodeHost.network('n', never, 1);
  expect([nameAddresses, hostAddresses.includes('127.0.0.1')]).toEqual([[], true]);
});
