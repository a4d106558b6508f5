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
      make: own ? (nowMs) => host.selfSigned({ host: 'n', ips, nowMs }) : undefined,
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

function shown(serving: ServingFiles): string | undefined {
  return serving.current()?.certPem;
}

test('nothing there: a pair is made, and the next life uses it', async () => {
  const { host, start } = world();
  const first = await start();
  expect(first.serving.current()).toEqual({
    certPem: 'certificate of self-signed 1',
    keyPem: 'key of self-signed 1',
  });
  expect(host.pairs.get(certFile)?.facts).toMatchObject({ dnsNames: ['n'], ips: ['192.0.2.2'] });
  await first.stop();
  const second = await start();
  expect(shown(second.serving)).toBe('certificate of self-signed 1');
});

test('half of a pair, as a crash leaves it, is replaced', async () => {
  const { host, start } = world();
  const first = await start();
  await first.stop();
  host.pairs.delete(certFile);
  const second = await start();
  expect(shown(second.serving)).toBe('certificate of self-signed 2');
});

test('its own pair is made anew at 80 % of the year, and who listens is told', async () => {
  const { clock, start } = world();
  const { serving } = await start();
  let told = 0;
  serving.changed.subscribe(() => told++);
  await clock.advance(291 * dayMs);
  expect([shown(serving), told]).toEqual(['certificate of self-signed 1', 0]);
  await clock.advance(2 * dayMs);
  expect([shown(serving), told]).toEqual(['certificate of self-signed 2', 1]);
});

test('the clock is set a year ahead: the expired pair is replaced within ten minutes, and only once', async () => {
  const { clock, start } = world();
  const { serving } = await start();
  clock.stepWall(400 * dayMs);
  await clock.advance(dayMs);
  expect(shown(serving)).toBe('certificate of self-signed 2');
});

test('a pair that somebody else put there stays, expired or not', async () => {
  const { clock, host, start } = world();
  const foreign = memoryPair('theirs', { notBeforeMs: 0, notAfterMs: clock.now() - 1 });
  host.put(certFile, foreign);
  const { serving } = await start();
  await clock.advance(400 * dayMs);
  expect(shown(serving)).toBe('certificate of theirs');
});

test('files that are named: read, taken over when they change, kept when they break', async () => {
  const { clock, host, files, lines, start } = world({ own: false });
  host.put(certFile, memoryPair('a', {}));
  const { serving } = await start();
  expect(shown(serving)).toBe('certificate of a');
  host.put(certFile, memoryPair('b', {}));
  await clock.advance(10);
  expect(shown(serving)).toBe('certificate of b');
  host.pairs.delete(certFile);
  await files.write(memoryPair('b', {}));
  host.pairs.delete(certFile);
  await clock.advance(10);
  expect(shown(serving)).toBe('certificate of b');
  expect(lines.some((line) => line.includes('keeping the one before'))).toBe(true);
});

test('files that are named and missing: the kubelet does not start', async () => {
  const { build } = world({ own: false });
  await expect(build().start(new AbortController().signal)).rejects.toThrow(/cannot read/);
});

test('without ReloadKubeletServerCertificateFile a change waits for a restart', async () => {
  const { clock, host, start } = world({ own: false, reload: false });
  host.put(certFile, memoryPair('a', {}));
  const { serving } = await start();
  host.put(certFile, memoryPair('b', {}));
  await clock.advance(60_000);
  expect(shown(serving)).toBe('certificate of a');
});

test('the second file comes while the first change is being read: both are taken over', async () => {
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
  expect(shown(serving)).toBe('certificate of b');
});

test('while somebody replaces the files in the default place, their half is not written over', async () => {
  const { clock, host, lines, start } = world();
  host.put(certFile, memoryPair('theirs', {}));
  const { serving } = await start();
  host.spoil(certFile);
  await clock.advance(dayMs);
  expect([shown(serving), host.pairs.has(certFile)]).toEqual(['certificate of theirs', false]);
  expect(lines.filter((line) => line.includes('keeping the one before'))).toHaveLength(1);
  host.put(certFile, memoryPair('their next', {}));
  await clock.advance(10);
  expect(shown(serving)).toBe('certificate of their next');
});

test('its own pair whose files went is made anew only when its time has come', async () => {
  const { clock, host, start } = world();
  const { serving } = await start();
  host.spoil(certFile);
  await clock.advance(dayMs);
  expect([shown(serving), host.pairs.has(certFile)]).toEqual(['certificate of self-signed 1', false]);
  clock.stepWall(300 * dayMs);
  await clock.advance(3_600_000);
  expect([shown(serving), host.pairs.has(certFile)]).toEqual(['certificate of self-signed 2', true]);
});
