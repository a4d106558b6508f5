// Against a systemd that speaks real D-Bus on a real socket.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { FakeSystemd } from '../../../test/fakes/fake-systemd.ts';
import { realClock } from '../../base/clock.ts';
import { SystemdUnits } from './systemd-units.ts';
import { newSliceProperties } from './unit-properties.ts';

let made: string;
let systemd: FakeSystemd;
let units: SystemdUnits;
const socket = (): string => join(made, 'private');
const places = () => ({ systemBus: `unix:path=${join(made, 'no-bus')}`, privateSocket: socket() });

beforeEach(async () => {
  made = await mkdtemp(join(tmpdir(), 'systemd-'));
  systemd = new FakeSystemd();
  await systemd.serve(socket());
  units = new SystemdUnits({ clock: realClock, places: places() });
});
afterEach(async () => {
  units.close();
  await systemd.close();
  await rm(made, { recursive: true });
});

const unit = 'kubepods-burstable.slice';
const properties = newSliceProperties(unit, 'kubepods.slice', 2);

test('without a system bus, over the socket of systemd itself; values arrive as they were sent', async () => {
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

test('its version, asked once', async () => {
  expect([await units.version(), await units.version()]).toEqual([252, 252]);
});

test('a unit that exists is as good as started; one that is gone has stopped', async () => {
  systemd.units.set(unit, { Old: true });
  await units.start(unit, properties);
  expect(systemd.units.get(unit)).toEqual({ Old: true });
  await units.stop('other.slice');
});

test('a job that ends before its number is known is not waited for in vain', async () => {
  systemd.signalsFirst = true;
  await Promise.all(['a.slice', 'b.slice'].map((each) => units.start(each, properties)));
  expect([...systemd.units.keys()]).toEqual(['a.slice', 'b.slice']);
});

test('a job that fails is told with what it came to, and the unit is let go', async () => {
  systemd.nextResult = 'dependency';
  await expect(units.start(unit, properties)).rejects.toThrow(
    `error creating systemd unit \`${unit}\`: got \`dependency\``,
  );
  expect(systemd.calls.at(-1)).toBe(`ResetFailedUnit ${unit}`);
});

test('what systemd refuses keeps its name', async () => {
  systemd.faults.set('SetUnitProperties', 'org.freedesktop.DBus.Error.InvalidArgs');
  systemd.units.set(unit, {});
  await expect(units.set(unit, [])).rejects.toMatchObject({ reason: 'InvalidArgs' });
});

test('a connection that is lost is made again, and the call with it', async () => {
  await units.start('a.slice', properties);
  systemd.drops = 2;
  await units.start(unit, properties);
  expect(systemd.calls.filter((call) => call.endsWith(unit))).toHaveLength(3);
  systemd.drops = 9;
  await expect(units.start('c.slice', properties)).rejects.toMatchObject({ reason: 'Disconnected' });
});

test('a systemd that is restarted is found again', async () => {
  await units.start('a.slice', properties);
  await systemd.close();
  await expect(units.start('b.slice', properties)).rejects.toMatchObject({ kind: 'unavailable' });
  await systemd.serve(socket());
  await units.start('c.slice', properties);
  expect([...systemd.units.keys()]).toEqual(['a.slice', 'c.slice']);
});

test('a job that never ends is given up after half a minute', async () => {
  const clock = new FakeClock(0);
  units.close();
  units = new SystemdUnits({ clock, places: places() });
  systemd.stalls = true;
  const failed = expect(units.start(unit, properties)).rejects.toMatchObject({ kind: 'timeout' });
  while (systemd.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
  // The answer is read before the clock goes on.
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
  await clock.advance(31_000);
  await failed;
});

test('nowhere to be found: both ways are named', async () => {
  const nowhere = { systemBus: 'unix:path=/nonexistent/bus', privateSocket: '/nonexistent/private' };
  await expect(new SystemdUnits({ clock: realClock, places: nowhere }).version()).rejects.toThrow(
    'cannot reach systemd, neither over unix:path=/nonexistent/bus nor at /nonexistent/private',
  );
});
