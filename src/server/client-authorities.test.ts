import { beforeEach, describe, expect, test } from 'vitest';
import { TestAuthority } from '../../test/api-server/pki.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { type Logger, silentLogger } from '../base/log/log.ts';
import { ClientAuthorities } from './client-authorities.ts';

const [one, two] = [new TestAuthority().cert, new TestAuthority().cert];

function bench(reload = true) {
  const clock = new FakeClock();
  const errors: string[] = [];
  const log: Logger = { ...silentLogger, error: (message) => void errors.push(message) };
  const disk = { text: one, changed: () => undefined as void, closed: false };
  const authorities = new ClientAuthorities({
    path: '/ca.crt',
    reload,
    file: {
      read: async () => {
        if (disk.text === 'missing') throw new Error('ENOENT');
        return disk.text;
      },
      watch: (_path, onChange) => {
        disk.changed = onChange;
        return { close: () => void (disk.closed = true) };
      },
    },
    clock,
    log,
  });
  let changes = 0;
  authorities.changed.subscribe(() => {
    changes += 1;
  });
  return { authorities, clock, disk, errors, changes: () => changes };
}

describe('client authorities', () => {
  let b = bench();
  beforeEach(() => {
    b = bench();
  });

  test.each([
    ['missing', 'ENOENT'],
    ['nothing here', '/ca.crt has no certificates in PEM'],
    ['-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----', 'has an invalid certificate'],
  ])('fails the start without a valid bundle: %s', async (text, message) => {
    b.disk.text = text;
    await expect(b.authorities.start(new AbortController().signal)).rejects.toThrow(message);
  });

  test('reload the file on events and periodically, until stopped', async () => {
    const stop = new AbortController();
    const { stopped } = await b.authorities.start(stop.signal);
    expect([b.authorities.pem(), b.changes()]).toEqual([one, 0]);
    b.disk.text = `words\n${one}\nmore words\n${two}`;
    b.disk.changed();
    await b.clock.advance(0);
    expect([b.authorities.pem(), b.changes()]).toEqual([one + two, 1]);
    b.disk.text = two;
    await b.clock.advance(59_000);
    expect(b.changes()).toBe(1);
    await b.clock.advance(1_000);
    expect([b.authorities.pem(), b.changes()]).toEqual([two, 2]);
    stop.abort();
    await stopped;
    b.disk.text = one;
    await b.clock.advance(120_000);
    expect([b.authorities.pem(), b.disk.closed]).toEqual([two, true]);
  });

  test('keep the previous authorities while the file is missing or invalid', async () => {
    const stop = new AbortController();
    const { stopped } = await b.authorities.start(stop.signal);
    for (const text of ['missing', '']) {
      b.disk.text = text;
      b.disk.changed();
      await b.clock.advance(0);
    }
    expect([b.authorities.pem(), b.changes(), b.errors.length]).toEqual([one, 0, 2]);
    // Once per failure, however often the file is checked.
    await b.clock.advance(600_000);
    expect(b.errors).toHaveLength(2);
    b.disk.text = two;
    await b.clock.advance(60_000);
    expect(b.authorities.pem()).toBe(two);
    stop.abort();
    await stopped;
  });

  test('keep the authorities of the start without the gate', async () => {
    const start = bench(false);
    const stop = new AbortController();
    const { stopped } = await start.authorities.start(stop.signal);
    start.disk.text = two;
    start.disk.changed();
    await start.clock.advance(600_000);
    expect([start.authorities.pem(), start.changes(), start.clock.pendingTimers()]).toEqual([one, 0, 0]);
    stop.abort();
    await stopped;
  });
});
