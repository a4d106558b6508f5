// NFS volumes of a real server, that of this machine's kernel if it has one, and of a server that stops responding.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Pod } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { mountsBelow } from './rig/mounts.ts';
import { rigUnavailableReason } from './rig/prerequisites.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { slowness, waitFor } from './rig/wait.ts';
import { untilLogged } from './support/container-log.ts';
import { container, exitsOnTerm, manifest } from './support/manifest.ts';
import { NfsServer, nfsUnavailableReason } from './support/nfs-server.ts';
import { uidOf } from './support/pod-state.ts';
import { untilNoTraces } from './support/pod-traces.ts';
import { TestPods } from './support/test-pods.ts';

const why = rigUnavailableReason() ?? nfsUnavailableReason();

describe.skipIf(why !== undefined)(`NFS${why === undefined ? '' : ` (skipped: ${why})`}`, () => {
  let rig: Rig;
  let kubelet: Kubelet;
  let exported: string;
  let server: NfsServer;
  const own = new TestPods(() => kubelet);

  beforeAll(async () => {
    exported = mkdtempSync(join(tmpdir(), 'exported-'));
    mkdirSync(join(exported, 'sub'));
    writeFileSync(join(exported, 'file'), 'served\n');
    writeFileSync(join(exported, 'sub/file'), 'part\n');
    server = new NfsServer(exported);
    await server.start();
    rig = await startRig({ registry: false });
    kubelet = await rig.kubelet();
  }, 120_000 * slowness);
  afterAll(async () => {
    await server.answerAgain();
    await rig.stop();
    await server.stop();
    rmSync(exported, { recursive: true });
  }, 120_000 * slowness);
  afterEach(() => own.removeAll());

  const pod = (
    name: string,
    script: string,
    over: { readonly subPath?: string; readonly readOnly?: boolean } = {},
  ) => {
    const { readOnly = false, ...mount } = over;
    return manifest(name, {
      volumes: [{ name: 'v', nfs: { server: server.address, path: '/', readOnly } }],
      containers: [container('main', script, { volumeMounts: [{ name: 'v', mountPath: '/v', ...mount }] })],
    });
  };
  const podMounts = (found: Pod): readonly string[] =>
    mountsBelow(join(kubelet.rootDir, 'pods', uidOf(found)));

  test(
    'mounts an export read-write, a sub-path of it, and read-only',
    async () => {
      const whole = await own.start(
        'whole',
        pod('whole', `cat /v/file; echo mine > /v/written; ${exitsOnTerm}`),
      );
      expect(await untilLogged(kubelet, whole, 1)).toEqual(['served']);
      await waitFor(() => readdirSync(exported).includes('written'), 'the file to be on the server');
      expect(readFileSync(join(exported, 'written'), 'utf8')).toBe('mine\n');
      const part = await own.start('part', pod('part', `cat /v/file; ${exitsOnTerm}`, { subPath: 'sub' }));
      expect(await untilLogged(kubelet, part, 1)).toEqual(['part']);
      const script = `echo no > /v/denied || echo refused; ${exitsOnTerm}`;
      const only = await own.start('only', pod('only', script, { readOnly: true }));
      expect(await untilLogged(kubelet, only, 2)).toContain('refused');
      own.removeAll();
      for (const each of [whole, part, only]) {
        await untilNoTraces(rig, kubelet, each);
        expect(podMounts(each)).toEqual([]);
      }
      expect(readdirSync(exported).sort()).toEqual(['file', 'sub', 'written']);
    },
    180_000 * slowness,
  );

  test(
    'an unresponsive server does not affect other pods and the stats, and its pod still ends',
    async () => {
      const looking = await own.start(
        'looking',
        pod('looking', 'while :; do ls /v > /dev/null; sleep 0.2; done'),
      );
      await server.fallSilent();
      own.write('waiting', pod('waiting', exitsOnTerm));
      const beside = await own.start('beside', manifest('beside'));
      const summary = await (await kubelet.get(kubelet.readOnlyPort, '/stats/summary')).text();
      expect(summary).toContain(`"looking-${kubelet.nodeName}"`);
      own.removeAll();
      for (const each of [beside, looking]) await untilNoTraces(rig, kubelet, each);
      expect(podMounts(looking)).toEqual([]);
      await server.answerAgain();
      expect(readdirSync(exported)).toContain('file');
    },
    240_000 * slowness,
  );
});
