import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { FakeFlexDrivers } from '../../../test/fakes/fake-flex-drivers.ts';
import { hanging } from '../../../test/fakes/fake-host-programs.ts';
import { startComponent } from '../../base/component.ts';
import { describeError } from '../../base/errors.ts';
import { silentLogger } from '../../base/log/log.ts';
import { FlexDrivers } from './drivers.ts';

const path = '/exec/vendor~driver/driver';
const name = 'vendor/driver';

describe('FlexDrivers', () => {
  let clock: FakeClock;
  let files: FakeFlexDrivers;
  let drivers: FlexDrivers;
  let stop: AbortController;
  let stopped: Promise<void> | undefined;
  let announced: string[];
  beforeEach(() => {
    clock = new FakeClock();
    files = new FakeFlexDrivers();
    drivers = new FlexDrivers({
      directory: '/exec',
      files,
      programs: files.programs,
      clock,
      log: silentLogger,
    });
    stop = new AbortController();
    stopped = undefined;
    announced = [];
    drivers.changed.subscribe((each) => announced.push(each));
  });
  afterEach(async () => {
    stop.abort();
    await stopped;
  });
  const start = async (): Promise<void> => {
    ({ stopped } = await clock.until(startComponent(drivers, stop.signal)));
  };
  const used = async (driver = name): Promise<string> =>
    await drivers.use(driver, stop.signal).then(
      ({ capabilities }) => `attach ${capabilities.attach}`,
      (err: unknown) => describeError(err),
    );

  test('initialises the drivers that exist before its start ends', async () => {
    files.install(name, { init: { status: 'Success', capabilities: { attach: false } } });
    files.install('plain');
    expect(drivers.missing(name)).toBe('the first scan of /exec for FlexVolume drivers');
    await start();
    expect([drivers.missing(name), drivers.missing('plain')]).toEqual([undefined, undefined]);
    expect(drivers.lastKnown(name)?.capabilities.attach).toBe(false);
    expect(announced.toSorted()).toEqual(['plain', name]);
  });

  test('a driver that hangs delays the start by a few seconds only, and no other driver', async () => {
    files.programs.programs.set('/exec/slow/slow', async (_, signal) => {
      await clock.sleep(100_000, signal);
      return {};
    });
    files.put('slow', { is: 'executable', path: '/exec/slow/slow', identity: '1' });
    files.install(name);
    await start();
    expect(clock.monotonic()).toBe(5_000);
    expect(drivers.missing(name)).toBeUndefined();
    expect(drivers.missing('slow')).toBe('FlexVolume driver slow to be initialized');
  });

  test('a volume waits for its driver and is woken when the driver appears', async () => {
    await start();
    expect(drivers.missing(name)).toBe('FlexVolume driver vendor/driver to appear in /exec');
    expect(await used()).toBe('driver not found: no FlexVolume driver vendor/driver in /exec');
    files.install(name);
    await clock.settle();
    expect(announced).toEqual([name]);
    expect(drivers.missing(name)).toBeUndefined();
  });

  test('a driver is initialised once per executable', async () => {
    files.install(name);
    await start();
    await Promise.all([used(), used()]);
    expect(files.calls).toEqual(['init']);
    files.install(name, { init: { status: 'Success', capabilities: { attach: false } } });
    expect(await Promise.all([used(), used()])).toEqual(['attach false', 'attach false']);
    await clock.settle();
    expect(files.calls).toEqual(['init', 'init']);
  });

  test('a removed driver is missing, but what is known of it stays', async () => {
    files.install(name);
    await start();
    files.remove(name);
    await clock.settle();
    expect(drivers.missing(name)).toBe('FlexVolume driver vendor/driver to appear in /exec');
    expect(drivers.lastKnown(name)?.path).toBe(path);
    expect(announced).toEqual([name, name]);
  });

  test('a refused file is reported by name, and accepted when it is corrected', async () => {
    files.put('vendor~driver', { is: 'refused', why: `${path} is not executable` });
    await start();
    expect(drivers.missing(name)).toBe(
      `FlexVolume driver vendor/driver to be usable: ${path} is not executable`,
    );
    expect(await used()).toBe(`FlexVolume driver vendor/driver is refused: ${path} is not executable`);
    files.install(name);
    await clock.settle();
    expect(drivers.missing(name)).toBeUndefined();
  });

  const failures: readonly (readonly [string, object | string, string])[] = [
    [
      'a failure',
      { status: 'Failure', message: 'no module' },
      'init command failed, status: Failure, reason: no module',
    ],
    ['no support', { status: 'Not supported' }, 'init command failed: Not supported'],
    ['no JSON', 'usage: driver', 'init command failed: the answer is malformed: it is not JSON'],
    ['too much', 'x'.repeat(70_000), 'init command failed: the answer has more than 65536 bytes'],
  ];
  for (const [what, init, want] of failures)
    test(`an init that answers ${what} is repeated with a backoff`, async () => {
      let answer: object | string = init;
      files.install(name, { init: () => answer });
      await start();
      expect(drivers.missing(name)).toBe(`FlexVolume driver vendor/driver to be usable: ${want}`);
      expect(await used()).toBe(`FlexVolume driver vendor/driver cannot be initialized: ${want}`);
      answer = { status: 'Success' };
      await clock.advance(2_000);
      expect(drivers.missing(name)).toBeUndefined();
    });

  test('an init that hangs ends at the deadline of a call-out', async () => {
    files.install(name);
    files.programs.programs.set(path, hanging(path));
    await start();
    expect(await used()).toBe(
      'FlexVolume driver vendor/driver cannot be initialized: init command of FlexVolume driver vendor/driver did not end within 120 s',
    );
    expect(files.programs.runs[0]).toMatchObject({ args: ['init'], timeoutMs: 120_000, outputBytes: 65_536 });
  });

  test('an invalid name is never waited for, and reaches no file', async () => {
    await start();
    expect(drivers.missing('../x')).toBeUndefined();
    expect(await used('../x')).toBe('"../x" is not a valid name of a FlexVolume driver');
    files.put('..~x', { is: 'executable', path: '/x', identity: '1' });
    files.put('mounts', { is: 'executable', path: '/mounts/mounts', identity: '1' });
    await clock.settle();
    expect(files.programs.runs).toEqual([]);
  });

  test('stops while an init is in flight', async () => {
    files.programs.programs.set(path, async (_, signal) => {
      await clock.sleep(1_000_000, signal);
      return {};
    });
    files.put('vendor~driver', { is: 'executable', path, identity: '1' });
    await start();
    stop.abort();
    await clock.until(stopped ?? Promise.resolve());
    expect(announced).toEqual([]);
  });
});
