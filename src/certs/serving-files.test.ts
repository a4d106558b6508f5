import { expect, onTestFinished, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { MemoryCertificates, memoryPair } from '../../test/fakes/memory-certificates.ts';
import { Verbosity } from '../base/log/log.ts';
import { textLogger } from '../base/log/log-text.ts';
import { ServingFiles } from './serving-files.ts';

const dayMs = 24 * 3_600_000;
const certFile = '/pki/kubelet.crt';

function world({ own = true, reload = true } = {}) {
  const clock = new FakeClock();
  const host = new MemoryCertificates();
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  const log = textLogger({ write, clock, verbosity: new Verbosity(0), pid: 1 });
  const files = host.servingFiles({ certFile });
  const ips = ['192.0.2.2'];
  const build = (): ServingFiles =>
    new ServingFiles({
      files,
      create: own ? (nowMs) => host.selfSigned({ host: 'n', ips, nowMs }) : undefined,
      reload,
      random: () => 0.5,
      clock,
      log,
    });
  const start = async (): Promise<{ serving: ServingFiles; stop: () => Promise<void> }> => {
    const abort = new AbortController();
    const serving = build();
    const { stopped } = await serving.start(abort.signal);
    const stop = async (): Promise<void> => {
      abort.abort();
      await stopped;
    };
    onTestFinished(stop);
    return { serving, stop };
  };
  return { clock, host, files, lines, start, build };
}

function served(serving: ServingFiles): string | undefined {
  return serving.current()?.certPem;
}

test('creates a pair when there is none, and uses it again after a restart', async () => {
  const { host, start } = world();
  const first = await start();
  expect(first.serving.current()).toEqual({
    certPem: 'certificate of self-signed 1',
    keyPem: 'key of self-signed 1',
  });
  expect(host.pairs.get(certFile)?.facts).toMatchObject({ dnsNames: ['n'], ips: ['192.0.2.2'] });
  await first.stop();
  const second = await start();
  expect(served(second.serving)).toBe('certificate of self-signed 1');
});

test('replaces half of a pair, as left by a crash', async () => {
  const { host, start } = world();
  const first = await start();
  await first.stop();
  host.pairs.delete(certFile);
  const second = await start();
  expect(served(second.serving)).toBe('certificate of self-signed 2');
});

test('renews its own pair at 80 % of the year and announces it', async () => {
  const { clock, start } = world();
  const { serving } = await start();
  let changes = 0;
  serving.changed.subscribe(() => changes++);
  await clock.advance(291 * dayMs);
  expect([served(serving), changes]).toEqual(['certificate of self-signed 1', 0]);
  await clock.advance(2 * dayMs);
  expect([served(serving), changes]).toEqual(['certificate of self-signed 2', 1]);
});

test('replaces the expired pair once within ten minutes when the clock is set a year ahead', async () => {
  const { clock, start } = world();
  const { serving } = await start();
  clock.stepWall(400 * dayMs);
  await clock.advance(dayMs);
  expect(served(serving)).toBe('certificate of self-signed 2');
});

test('keeps a pair that it did not create, expired or not', async () => {
  const { clock, host, start } = world();
  const foreign = memoryPair('foreign', { notBeforeMs: 0, notAfterMs: clock.now() - 1 });
  host.put(certFile, foreign);
  const { serving } = await start();
  await clock.advance(400 * dayMs);
  expect(served(serving)).toBe('certificate of foreign');
});

test('reloads configured files when they change and keeps the current pair when they break', async () => {
  const { clock, host, files, lines, start } = world({ own: false });
  host.put(certFile, memoryPair('a', {}));
  const { serving } = await start();
  expect(served(serving)).toBe('certificate of a');
  host.put(certFile, memoryPair('b', {}));
  await clock.advance(10);
  expect(served(serving)).toBe('certificate of b');
  host.pairs.delete(certFile);
  await files.write(memoryPair('b', {}));
  host.pairs.delete(certFile);
  await clock.advance(10);
  expect(served(serving)).toBe('certificate of b');
  expect(lines.some((line) => line.includes('keeping the current one'))).toBe(true);
});

test('fails to start when a configured file is missing', async () => {
  const { build } = world({ own: false });
  await expect(build().start(new AbortController().signal)).rejects.toThrow(/cannot read/);
});

test('ignores changes until a restart without ReloadKubeletServerCertificateFile', async () => {
  const { clock, host, start } = world({ own: false, reload: false });
  host.put(certFile, memoryPair('a', {}));
  const { serving } = await start();
  host.put(certFile, memoryPair('b', {}));
  await clock.advance(60_000);
  expect(served(serving)).toBe('certificate of a');
});

test('reads again when the second file changes during the read of the first', async () => {
  const { clock, host, files, start } = world({ own: false });
  host.put(certFile, memoryPair('a', {}));
  const { serving } = await start();
  const read = files.read.bind(files);
  let halfRead = (): void => undefined;
  files.read = async () => {
    const found = await read();
    await new Promise<void>((resolve) => {
      halfRead = resolve;
    });
    return found;
  };
  host.put(certFile, memoryPair('half', {}));
  await clock.advance(10);
  files.read = read;
  host.put(certFile, memoryPair('b', {}));
  await clock.advance(10);
  halfRead();
  await clock.advance(10);
  expect(served(serving)).toBe('certificate of b');
});

test('does not overwrite half of a pair that another process is replacing in the default place', async () => {
  const { clock, host, lines, start } = world();
  host.put(certFile, memoryPair('foreign', {}));
  const { serving } = await start();
  host.spoil(certFile);
  await clock.advance(dayMs);
  expect([served(serving), host.pairs.has(certFile)]).toEqual(['certificate of foreign', false]);
  expect(lines.filter((line) => line.includes('keeping the current one'))).toHaveLength(1);
  host.put(certFile, memoryPair('foreign next', {}));
  await clock.advance(10);
  expect(served(serving)).toBe('certificate of foreign next');
});

test('recreates its own deleted pair only when it is due for renewal', async () => {
  const { clock, host, start } = world();
  const { serving } = await start();
  host.spoil(certFile);
  await clock.advance(dayMs);
  expect([served(serving), host.pairs.has(certFile)]).toEqual(['certificate of self-signed 1', false]);
  clock.stepWall(300 * dayMs);
  await clock.advance(3_600_000);
  expect([served(serving), host.pairs.has(certFile)]).toEqual(['certificate of self-signed 2', true]);
});
