// Invalid manifests of all kinds: each yields one log line with file and reason, other pods keep running, and a
// corrected file starts its pod.
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { settleMs } from '../src/sources/known-file.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { mustRun } from './rig/process.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { container, manifest } from './support/manifest.ts';
import { containerIdOf, uidOf, untilNoPod, untilRunning } from './support/pod-state.ts';
import { untilNoTraces } from './support/pod-traces.ts';

const json = (name: string): string => JSON.stringify(manifest(name));
const twelveMiB = 12 * 1024 * 1024;

interface Case {
  /** The content of the file, or a function that creates the path. */
  readonly put: string | ((path: string) => void | Promise<void>);
  /** The reason in the log line. */
  readonly reason: RegExp;
  readonly level?: 'E' | 'W';
}

const wrongType = { ...manifest('bad'), spec: { containers: 'none' } };
const badName = manifest('Bad_Name');

const cases: Readonly<Record<string, Case>> = {
  garbage: { put: '\u0000\u0001 this is: not [a manifest', reason: /line 1|yaml|YAML|control character/ },
  empty: { put: '', reason: /empty/ },
  'white space': { put: ' \n\n', reason: /no document/ },
  'over 10 MiB': { put: `#${'x'.repeat(twelveMiB)}\n${json('bad')}`, reason: /larger than 10485760 bytes/ },
  'another kind': {
    put: JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'bad' } }),
    reason: /Secret/,
  },
  'another version': { put: JSON.stringify({ ...manifest('bad'), apiVersion: 'v2' }), reason: /v2/ },
  'an invalid name': { put: JSON.stringify(badName), reason: /metadata\.name: .*Bad_Name/ },
  'no containers': { put: JSON.stringify({ ...manifest('bad'), spec: {} }), reason: /spec\.containers: / },
  'a wrong type': { put: JSON.stringify(wrongType), reason: /spec\.containers/ },
  'a reference to an API object': {
    put: JSON.stringify(manifest('bad', { volumes: [{ name: 'v', configMap: { name: 'absent' } }] })),
    reason: /static pods may not reference configmaps/,
  },
  'half a document': { put: json('bad').slice(0, 90), reason: /./ },
  'a dangling link': { put: (path) => symlinkSync('/no/such/file', path), reason: /dangling link/ },
  'a link to itself': { put: (path) => symlinkSync(path, path), reason: /too many levels of symbolic links/ },
  'a pipe without a writer': {
    put: async (path) => void (await mustRun('mkfifo', [path])),
    reason: /not a regular file/,
    level: 'W',
  },
  'a socket': { put: listenOn, reason: /not a regular file/, level: 'W' },
};

/** Leaves the socket file behind, like a killed program. */
async function listenOn(path: string): Promise<void> {
  const server = createServer();
  const side = `${path}.side`;
  await new Promise<void>((resolve) => server.listen(side, resolve));
  renameSync(side, path);
  await new Promise((resolve) => server.close(resolve));
}

describeOnRig('manifest faults', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  let steady: string;

  beforeAll(async () => {
    rig = await startRig();
    kubelet = await rig.kubelet();
    kubelet.writeManifest('steady', manifest('steady'));
    steady = containerIdOf(await untilRunning(kubelet, 'steady'));
  });
  afterAll(() => rig.stop());
  afterEach(async () => {
    // The pod that ran before keeps running.
    expect(containerIdOf(await untilRunning(kubelet, 'steady'))).toBe(steady);
  });

  /** Warnings and errors that name the path, from a position in the log on. */
  const linesOn = (path: string, from: number): readonly string[] =>
    kubelet.log.matching(/^[EW]/, from).filter((line) => line.includes(`path="${path}"`));

  /** Waits for two more scans of the directory. */
  const untilScannedTwice = async (name: string): Promise<void> => {
    for (const label of ['a', 'b']) {
      kubelet.writeManifest(`look-${name}`, manifest(`look-${name}`, { metadata: { labels: { label } } }));
      const hasScanned = async (): Promise<boolean> =>
        (await kubelet.pod(`look-${name}`))?.metadata?.labels?.['label'] === label;
      await waitFor(hasScanned, 'a scan of the directory');
    }
    kubelet.removeManifest(`look-${name}`);
  };

  let number = 0;
  for (const [what, { put, reason, level = 'E' }] of Object.entries(cases)) {
    test(`${what} yields one log line, and the corrected file starts its pod`, async () => {
      number += 1;
      const name = `bad-${number}`;
      const path = kubelet.manifestPath(name);
      const from = kubelet.log.end;
      if (typeof put === 'string') kubelet.writeManifest(name, put);
      else await put(path);
      await waitFor(() => linesOn(path, from).length > 0, 'a line about the file');
      await untilScannedTwice(name);
      const lines = linesOn(path, from);
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(new RegExp(`^${level}`));
      expect(/reason="((?:[^"\\]|\\.)*)"/.exec(lines[0] ?? '')?.[1]).toMatch(reason);
      expect((lines[0] ?? '').length).toBeLessThan(1000);

      kubelet.writeManifest(name, manifest(name));
      const pod = await untilRunning(kubelet, name);
      expect(linesOn(path, from)).toHaveLength(1);
      kubelet.removeManifest(name);
      await untilNoTraces(rig, kubelet, pod);
    });
  }

  test('a second pod of the same name yields one log line with both files, and the first keeps running', async () => {
    const first = kubelet.manifestPath('dup-1');
    const second = kubelet.manifestPath('dup-2');
    kubelet.writeManifest('dup-1', manifest('dup'));
    const before = await untilRunning(kubelet, 'dup');
    const from = kubelet.log.end;
    kubelet.writeManifest('dup-2', manifest('dup', { containers: [container('other')] }));
    await waitFor(() => linesOn(second, from).length > 0, 'a line about the second file');
    await untilScannedTwice('dup');
    expect(linesOn(second, from)).toHaveLength(1);
    expect(linesOn(second, from)[0]).toContain(first);
    expect(containerIdOf(await untilRunning(kubelet, 'dup'))).toBe(containerIdOf(before));
    // When the first is removed, the second replaces it.
    kubelet.removeManifest('dup-1');
    await waitFor(
      async () => uidOf((await kubelet.pod('dup')) ?? {}) !== uidOf(before),
      'the second pod to start',
    );
    await untilNoTraces(rig, kubelet, before);
    const after = await untilRunning(kubelet, 'dup');
    expect(containerIdOf(after, 'other')).not.toBe('');
    kubelet.removeManifest('dup-2');
  });

  test('an invalid document does not affect the valid ones in its file', async () => {
    const from = kubelet.log.end;
    const path = kubelet.manifestPath('among');
    kubelet.writeManifest(
      'among',
      `---\n${json('good-1')}\n---\n${JSON.stringify(wrongType)}\n---\n${json('good-2')}\n`,
    );
    for (const name of ['good-1', 'good-2']) await untilRunning(kubelet, name);
    await waitFor(() => linesOn(path, from).length > 0, 'a line about the file');
    await untilScannedTwice('among');
    expect(linesOn(path, from)).toHaveLength(1);
    kubelet.removeManifest('among');
  });

  test('an invalid edit yields one log line, and the pod keeps running until it is corrected', async () => {
    kubelet.writeManifest('spoilt', manifest('spoilt'));
    const before = await untilRunning(kubelet, 'spoilt');
    const path = kubelet.manifestPath('spoilt');
    const from = kubelet.log.end;
    kubelet.writeManifest('spoilt', json('spoilt').slice(0, 100));
    await waitFor(() => linesOn(path, from).length > 0, 'a line about the file');
    await untilScannedTwice('spoilt');
    expect(linesOn(path, from)).toHaveLength(1);
    expect(containerIdOf(await untilRunning(kubelet, 'spoilt'))).toBe(containerIdOf(before));
    kubelet.writeManifest('spoilt', manifest('spoilt'));
    await kubelet.log.waitForLine(/Manifest problem was resolved.*spoilt/, { from });
    expect(containerIdOf(await untilRunning(kubelet, 'spoilt'))).toBe(containerIdOf(before));
    kubelet.removeManifest('spoilt');
  });

  test('a file that is written slowly yields no log line, and the pod starts when it is complete', async () => {
    const path = kubelet.manifestPath('slowly');
    const from = kubelet.log.end;
    const text = json('slowly');
    const beganMs = performance.now();
    for (const part of [0, 0.3, 0.6, 1]) {
      writeFileSync(path, text.slice(0, Math.floor(text.length * part)));
      await sleep(25);
    }
    const tookMs = performance.now() - beganMs;
    await untilRunning(kubelet, 'slowly');
    // On a stalled machine the parts arrive so late that each is rightly treated as complete.
    if (tookMs < settleMs) expect(linesOn(path, from)).toEqual([]);
    kubelet.removeManifest('slowly');
  });

  test('a directory that is removed and created again yields one log line, and its pods end and start again', async () => {
    kubelet.writeManifest('homeless', manifest('homeless'));
    const before = await untilRunning(kubelet, 'homeless');
    const from = kubelet.log.end;
    const aside = join(kubelet.dir, 'aside');
    renameSync(kubelet.manifestDir, aside);
    await untilNoTraces(rig, kubelet, before);
    await untilNoPod(kubelet, 'steady');
    expect(linesOn(kubelet.manifestDir, from)).toHaveLength(1);
    expect(linesOn(kubelet.manifestDir, from)[0]).toContain('does not exist');
    renameSync(aside, kubelet.manifestDir);
    const after = await untilRunning(kubelet, 'homeless');
    expect(uidOf(after)).toBe(uidOf(before));
    steady = containerIdOf(await untilRunning(kubelet, 'steady'));
    expect(linesOn(kubelet.manifestDir, from)).toHaveLength(1);
    kubelet.removeManifest('homeless');
  });

  test('an unreadable file yields one log line, and its pod starts when it is readable', async () => {
    // Root may read everything; a kubelet without CAP_DAC_OVERRIDE may not.
    await kubelet.stop();
    const wrappers = join(rig.workspace.dir, 'wrappers');
    mkdirSync(wrappers);
    const droppedCapabilities = '-dac_override,-dac_read_search';
    const exec = `exec setpriv --bounding-set=${droppedCapabilities} --inh-caps=${droppedCapabilities} ${process.execPath} "$@"`;
    writeFileSync(join(wrappers, 'node'), `#!/bin/sh\n${exec}\n`, { mode: 0o755 });
    const bound = rig.newKubelet({
      nodeName: kubelet.nodeName,
      env: { PATH: `${wrappers}:${process.env['PATH']}` },
    });
    const path = bound.manifestPath('secret');
    bound.writeManifest('secret', manifest('secret'));
    chmodSync(path, 0o000);
    kubelet = bound;
    const from = kubelet.log.end;
    await kubelet.start();
    await waitFor(() => linesOn(path, from).length > 0, 'a line about the file');
    await untilScannedTwice('secret');
    expect(linesOn(path, from)).toHaveLength(1);
    expect(linesOn(path, from)[0]).toContain('permission denied');
    chmodSync(path, 0o600);
    await untilRunning(kubelet, 'secret');
    // A pod whose file becomes unreadable keeps running.
    chmodSync(path, 0o000);
    await waitFor(() => linesOn(path, from).length > 1, 'another line about the file');
    await untilRunning(kubelet, 'secret');
    rmSync(path);
    await untilNoPod(kubelet, 'secret');
  });
});
