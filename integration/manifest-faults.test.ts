// Manifests that are wrong in every way a file can be: each yields one clear line that names file and reason, the
// other pods go on, and a file that is mended starts its pod. On a real containerd, through the built command.
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
  /** What is put into the file, or how the path is made. */
  readonly put: string | ((path: string) => void | Promise<void>);
  /** What the line says is wrong. */
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
  'a name that is not valid': { put: JSON.stringify(badName), reason: /metadata\.name: .*Bad_Name/ },
  'no containers': { put: JSON.stringify({ ...manifest('bad'), spec: {} }), reason: /spec\.containers: / },
  'a wrong type': { put: JSON.stringify(wrongType), reason: /spec\.containers/ },
  'what only an API server could give': {
    put: JSON.stringify(manifest('bad', { volumes: [{ name: 'v', configMap: { name: 'absent' } }] })),
    reason: /static pods may not reference configmaps/,
  },
  'half a document': { put: json('bad').slice(0, 90), reason: /./ },
  'a link that leads nowhere': { put: (path) => symlinkSync('/no/such/file', path), reason: /dangling link/ },
  'a link to itself': { put: (path) => symlinkSync(path, path), reason: /circle/ },
  'a pipe that nobody writes to': {
    put: async (path) => void (await mustRun('mkfifo', [path])),
    reason: /not a regular file/,
    level: 'W',
  },
  'a socket': { put: listenOn, reason: /not a regular file/, level: 'W' },
};

/** Leaves the socket's file behind, as a program that was killed does. */
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
    // Whatever was wrong, what ran before runs on.
    expect(containerIdOf(await untilRunning(kubelet, 'steady'))).toBe(steady);
  });

  /** Lines that name the path as something to be told, from a place in the log on. */
  const linesOn = (path: string, from: number): readonly string[] =>
    kubelet.log.matching(/^[EW]/, from).filter((line) => line.includes(`path="${path}"`));

  /** The directory has been looked through twice more after this. */
  const lookTwice = async (name: string): Promise<void> => {
    for (const label of ['a', 'b']) {
      kubelet.writeManifest(`look-${name}`, manifest(`look-${name}`, { metadata: { labels: { label } } }));
      const looked = async (): Promise<boolean> =>
        (await kubelet.pod(`look-${name}`))?.metadata?.labels?.['label'] === label;
      await waitFor(looked, 'the directory to be looked through');
    }
    kubelet.removeManifest(`look-${name}`);
  };

  let number = 0;
  for (const [what, { put, reason, level = 'E' }] of Object.entries(cases)) {
    test(`${what}: one line that says so, and the mended file starts its pod`, async () => {
      number += 1;
      const name = `bad-${number}`;
      const path = kubelet.manifestPath(name);
      const from = kubelet.log.end;
      if (typeof put === 'string') kubelet.writeManifest(name, put);
      else await put(path);
      await waitFor(() => linesOn(path, from).length > 0, 'a line about the file');
      await lookTwice(name);
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

  test('a second pod of the same name: one line that names both files, and the first goes on', async () => {
    const first = kubelet.manifestPath('dup-1');
    const second = kubelet.manifestPath('dup-2');
    kubelet.writeManifest('dup-1', manifest('dup'));
    const before = await untilRunning(kubelet, 'dup');
    const from = kubelet.log.end;
    kubelet.writeManifest('dup-2', manifest('dup', { containers: [container('other')] }));
    await waitFor(() => linesOn(second, from).length > 0, 'a line about the second file');
    await lookTwice('dup');
    expect(linesOn(second, from)).toHaveLength(1);
    expect(linesOn(second, from)[0]).toContain(first);
    expect(containerIdOf(await untilRunning(kubelet, 'dup'))).toBe(containerIdOf(before));
    // When the first goes, the second takes its place.
    kubelet.removeManifest('dup-1');
    await waitFor(
      async () => uidOf((await kubelet.pod('dup')) ?? {}) !== uidOf(before),
      'the second to be taken',
    );
    await untilNoTraces(rig, kubelet, before);
    const after = await untilRunning(kubelet, 'dup');
    expect(containerIdOf(after, 'other')).not.toBe('');
    kubelet.removeManifest('dup-2');
  });

  test('one bad document among good ones: the good ones run', async () => {
    const from = kubelet.log.end;
    const path = kubelet.manifestPath('among');
    kubelet.writeManifest(
      'among',
      `---\n${json('good-1')}\n---\n${JSON.stringify(wrongType)}\n---\n${json('good-2')}\n`,
    );
    for (const name of ['good-1', 'good-2']) await untilRunning(kubelet, name);
    await waitFor(() => linesOn(path, from).length > 0, 'a line about the file');
    await lookTwice('among');
    expect(linesOn(path, from)).toHaveLength(1);
    kubelet.removeManifest('among');
  });

  test('a bad edit of a running pod: one line, and the pod goes on until the edit is mended', async () => {
    kubelet.writeManifest('spoilt', manifest('spoilt'));
    const before = await untilRunning(kubelet, 'spoilt');
    const path = kubelet.manifestPath('spoilt');
    const from = kubelet.log.end;
    kubelet.writeManifest('spoilt', json('spoilt').slice(0, 100));
    await waitFor(() => linesOn(path, from).length > 0, 'a line about the file');
    await lookTwice('spoilt');
    expect(linesOn(path, from)).toHaveLength(1);
    expect(containerIdOf(await untilRunning(kubelet, 'spoilt'))).toBe(containerIdOf(before));
    kubelet.writeManifest('spoilt', manifest('spoilt'));
    await kubelet.log.waitForLine(/Manifest problem was resolved.*spoilt/, { from });
    expect(containerIdOf(await untilRunning(kubelet, 'spoilt'))).toBe(containerIdOf(before));
    kubelet.removeManifest('spoilt');
  });

  test('a file that is written slowly in place: no line, and the pod starts when it is whole', async () => {
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
    // On a machine that stalls the parts come so late that each is rightly taken for the whole.
    if (tookMs < settleMs) expect(linesOn(path, from)).toEqual([]);
    kubelet.removeManifest('slowly');
  });

  test('a directory that disappears and comes back: one line, its pods end and start again', async () => {
    kubelet.writeManifest('homeless', manifest('homeless'));
    const before = await untilRunning(kubelet, 'homeless');
    const from = kubelet.log.end;
    const away = join(kubelet.dir, 'away');
    renameSync(kubelet.manifestDir, away);
    await untilNoTraces(rig, kubelet, before);
    await untilNoPod(kubelet, 'steady');
    expect(linesOn(kubelet.manifestDir, from)).toHaveLength(1);
    expect(linesOn(kubelet.manifestDir, from)[0]).toContain('does not exist');
    renameSync(away, kubelet.manifestDir);
    const after = await untilRunning(kubelet, 'homeless');
    expect(uidOf(after)).toBe(uidOf(before));
    steady = containerIdOf(await untilRunning(kubelet, 'steady'));
    expect(linesOn(kubelet.manifestDir, from)).toHaveLength(1);
    kubelet.removeManifest('homeless');
  });

  test('a file without read permission: one line, and it starts when it may be read', async () => {
    // Root reads everything; a kubelet without the capability to override permissions does not.
    await kubelet.stop();
    const wrappers = join(rig.workspace.dir, 'wrappers');
    mkdirSync(wrappers);
    const powers = '-dac_override,-dac_read_search';
    const exec = `exec setpriv --bounding-set=${powers} --inh-caps=${powers} ${process.execPath} "$@"`;
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
    await lookTwice('secret');
    expect(linesOn(path, from)).toHaveLength(1);
    expect(linesOn(path, from)[0]).toContain('permission denied');
    chmodSync(path, 0o600);
    await untilRunning(kubelet, 'secret');
    // A pod whose file is closed again goes on.
    chmodSync(path, 0o000);
    await waitFor(() => linesOn(path, from).length > 1, 'another line about the file');
    await untilRunning(kubelet, 'secret');
    rmSync(path);
    await untilNoPod(kubelet, 'secret');
  });
});
