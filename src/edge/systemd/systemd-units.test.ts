// Against a fake systemd that speaks D-Bus on a real socket.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { FakeSystemd } from '../../../test/fakes/fake-systemd.ts';
import { realClock } from '../../base/clock.ts';
import { SystemdUnits } from './systemd-units.ts';
import { newSliceProperties } from './unit-properties.ts';

let directory: string;
let systemd: FakeSystemd;
let units: SystemdUnits;
const socket = (): string => join(directory, 'private');
const addresses = () => ({ systemBus: `unix:path=${join(directory, 'no-bus')}`, privateSocket: socket() });

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'systemd-'));
  systemd = new FakeSystemd();
  await systemd.serve(socket());
  units = new SystemdUnits({ clock: realClock, addresses: addresses() });
});
afterEach(async () => {
  units.close();
  await systemd.close();
  await rm(directory, { recursive: true });
});

const unit = 'kubepods-burstable.slice';
const properties = newSliceProperties(unit, 'kubepods.slice', 2);

test('uses the private socket without a system bus, and transmits every type of value', async () => {
  await units.start(unit, properties);
  await units.set(unit, [
    { name: 'CPUWeight', signature: 't', value: 39n },
    { name: 'MemoryMax', signature: 't', value: 18_446_744_073_709_551_615n },
    { name: 'AllowedCPUs', signature: 'ay', value: Buffer.from([3]) },
  ]);
  expect(systemd.units.get(unit)).toEqual({
    Description: `libcontainer container ${unit}`,
    Wants: ['kubepods.slice'],
    MemoryAccounting: true,
    CPUAccounting: true,
    IOAccounting: true,
    TasksAccounting: true,
    DefaultDependencies: false,
    CPUWeight: 39n,
    MemoryMax: 18_446_744_073_709_551_615n,
    AllowedCPUs: Buffer.from([3]),
  });
  await units.stop(unit);
  expect([...systemd.units]).toEqual([]);
  expect(systemd.calls).toEqual([
    `StartTransientUnit ${unit}`,
    `SetUnitProperties ${unit}`,
    `StopUnit ${unit}`,
    `ResetFailedUnit ${unit}`,
  ]);
});

test('reads the version once', async () => {
  expect([await units.version(), await units.version()]).toEqual([252, 252]);
});

test('treats an existing unit as started and a missing one as stopped', async () => {
  systemd.units.set(unit, { Old: true });
  await units.start(unit, properties);
  expect(systemd.units.get(unit)).toEqual({ Old: true });
  await units.stop('other.slice');
});

test('completes a job that ends before its path is known', async () => {
  systemd.signalsFirst = true;
  await Promise.all(['a.slice', 'b.slice'].map((each) => units.start(each, properties)));
  expect([...systemd.units.keys()]).toEqual(['a.slice', 'b.slice']);
});

test('reports the result of a failed job and resets the unit', async () => {
  systemd.nextResult = 'dependency';
  await expect(units.start(unit, properties)).rejects.toThrow(
    `error creating systemd unit \`${unit}\`: got \`dependency\``,
  );
  expect(systemd.calls.at(-1)).toBe(`ResetFailedUnit ${unit}`);
});

test('keeps the name of a D-Bus error as reason', async () => {
  systemd.faults.set('SetUnitProperties', 'org.freedesktop.DBus.Error.InvalidArgs');
  systemd.units.set(unit, {});
  await expect(units.set(unit, [])).rejects.toMatchObject({ reason: 'InvalidArgs' });
});

test('reconnects after a lost connection and retries the call', async () => {
  await units.start('a.slice', properties);
  systemd.drops = 2;
  await units.start(unit, properties);
  expect(systemd.calls.filter((call) => call.endsWith(unit))).toHaveLength(3);
  systemd.drops = 9;
  await expect(units.start('c.slice', properties)).rejects.toMatchObject({ reason: 'Disconnected' });
});

test('reconnects after systemd restarts', async () => {
  await units.start('a.slice', properties);
  await systemd.close();
  await expect(units.start('b.slice', properties)).rejects.toMatchObject({ kind: 'unavailable' });
  await systemd.serve(socket());
  await units.start('c.slice', properties);
  expect([...systemd.units.keys()]).toEqual(['a.slice', 'c.slice']);
});

test('times out a job after half a minute', async () => {
  const clock = new FakeClock(0);
  units.close();
  units = new SystemdUnits({ clock, addresses: addresses() });
  systemd.stalls = true;
  const failed = expect(units.start(unit, properties)).rejects.toMatchObject({ kind: 'timeout' });
  while (systemd.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
  // The reply must be read before the clock advances.
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
  await clock.advance(31_000);
  await failed;
});

test('names both addresses when neither is reachable', async () => {
  const nowhere = { systemBus: 'unix:path=/nonexistent/bus', privateSocket: '/nonexistent/private' };
  await expect(new SystemdUnits({ clock: realClock, addresses: nowhere }).version()).rejects.toThrow(
    'cannot reach systemd over unix:path=/nonexistent/bus or /nonexistent/private',
  );
});
