import { release } from 'node:os';
import { expect, test } from 'vitest';
import { nodeHost } from './node-host.ts';

test('this host can tell who it is', async () => {
  const identity = await nodeHost.identity();
  expect(identity.bootID).toMatch(/^[0-9a-f-]{36}$/);
  expect(identity.kernelVersion).toBe(release());
  expect(identity.osImage).not.toBe('');
  expect(identity.systemUUID).not.toBe('');
});

test('a name that does not resolve leaves the other addresses', async () => {
  const { hostAddresses, nameAddresses } = await nodeHost.network('no-such-name.invalid');
  expect(nameAddresses).toEqual([]);
  expect(hostAddresses).toContain('127.0.0.1');
});

test('a server of names that never answers leaves the other addresses, too', async () => {
  const never = (): Promise<readonly string[]> => new Promise(() => undefined);
  const { hostAddresses, nameAddresses } = await nodeHost.network('n', never, 1);
  expect([nameAddresses, hostAddresses.includes('127.0.0.1')]).toEqual([[], true]);
});
