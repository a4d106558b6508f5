// Attacks by files: huge files, links, FIFOs and devices in place of the kubelet's own files, trees that are hard to
// walk, and directories that become links while the kubelet removes them.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Container, EnvVar, Pod, Volume, VolumeMount } from '../../../src/api/k8s/types.ts';
import type { Summary } from '../../../src/stats/summary/summary.ts';
import { waitFor } from '../../rig/wait.ts';
import { exitsOnTerm } from '../manifest.ts';
import type { Attack } from './attack.ts';
import { canaryFiles } from './canary.ts';
import { hostile, hostileNode, hostilePod, type Target } from './target.ts';

const sparse = '16G';
const levels = 5_000;
const podUid: EnvVar = { name: 'POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } };
const data: Volume = { name: 'data', emptyDir: {} };
const dataMount: VolumeMount = { name: 'data', mountPath: '/data' };
/** The first run executes the script and fails; the second one keeps running. */
const atFirst = (script: string, then = exitsOnTerm): string =>
  `if [ -e /data/again ]; then ${then}; fi; touch /data/again; ${script}; exit 1`;

/** Directories of the node that a careless operator makes writable for a pod. */
const onNode = (target: Target): Readonly<Record<'logs' | 'pods', Volume>> => ({
  logs: { name: 'logs', hostPath: { path: target.kubelet.podLogsDir } },
  pods: { name: 'pods', hostPath: { path: join(target.kubelet.rootDir, 'pods') } },
});
const nodeMounts = {
  logs: { name: 'logs', mountPath: '/logs' },
  pods: { name: 'pods', mountPath: '/pods' },
} as const;

/** Replacements of a file, as commands that end with the file's name. */
const replacements = (target: Target): Readonly<Record<string, string>> => ({
  link: `ln -s ${target.canary.secretFile}`,
  fifo: 'mkfifo',
  // /dev/zero, which is endless.
  device: 'f() { mknod $1 c 1 5; }; f',
  folder: 'mkdir',
});

const volumePath = (target: Target, pod: Pod, volume: string): string =>
  join(target.kubelet.rootDir, 'pods', pod.metadata?.uid ?? '', 'volumes', 'kubernetes.io~empty-dir', volume);
const podOf = (target: Target, name: string): Pod => target.cluster.pod(name) ?? {};
const restarted = (status: { readonly containerStatuses?: readonly { restartCount: number }[] }): boolean =>
  (status.containerStatuses ?? []).some(({ restartCount }) => restartCount > 0);

/** Many names of all kinds in one directory, most of them hard links. */
const fillWide = `
const fs = require('fs');
const fill = (dir, count) => {
  fs.mkdirSync(dir, { recursive: true });
  for (let at = 0; at < count; at++) {
    const first = dir + '/f' + (at - at % 10000);
    at % 10000 === 0 ? fs.writeFileSync(first, 'x') : fs.linkSync(first, dir + '/f' + at);
  }
};`;
const stay = `setInterval(() => undefined, 60000); process.on('SIGTERM', () => process.exit(0));`;
const roomy: Partial<Container> = { resources: { limits: { cpu: '1', memory: '512Mi' } } };

/** Waits until the kubelet begins a removal in DIR, then repeatedly replaces it by a link for some seconds. */
const swap = (find: string, canary: string): string =>
  `
const fs = require('fs');
const dir = (() => { for (;;) { const found = ${find}; if (found !== undefined) return found; } })();
for (let at = 0; at < ${canaryFiles}; at++) fs.writeFileSync(dir + '/f' + at, '');
fs.writeFileSync(dir + '/ready', '');
const count = () => { try { return fs.readdirSync(dir).length; } catch { return 0; } };
const all = count();
while (count() === all);
const end = Date.now() + 4000;
const attempt = (what) => { try { what(); } catch {} };
while (Date.now() < end) {
  attempt(() => fs.renameSync(dir, dir + '.old'));
  attempt(() => fs.symlinkSync(${JSON.stringify('CANARY')}, dir));
  for (const pause = Date.now() + 3; Date.now() < pause;);
  attempt(() => fs.unlinkSync(dir));
  attempt(() => fs.renameSync(dir + '.old', dir));
}
${stay}`.replace('CANARY', canary);
const findVictim = (root: string, inner: string): string =>
  `fs.readdirSync('${root}').map((name) => '${root}/' + name + '/${inner}').find((path) => fs.existsSync(path))`;

export const fileAttacks: readonly Attack[] = [
  {
    name: 'sparse and huge /etc/hosts files over restarts',
    pods: () => {
      const contents = {
        // Below the size at which Node rejects reading a whole file.
        gigabyte: 'truncate -s 1500M /etc/hosts',
        sparse: `truncate -s ${sparse} /etc/hosts`,
        text: `yes '192.0.2.1 a b c' | head -c 64M > /etc/hosts`,
        blanks: `head -c 64M /dev/zero | tr '\\0' ' ' > /etc/hosts`,
      };
      return Object.entries(contents).map(([name, script]) =>
        hostilePod(`hosts-${name}`, {
          volumes: [data],
          hostAliases: [{ ip: '192.0.2.9', hostnames: ['alias'] }],
          containers: [hostile('main', atFirst(script), { volumeMounts: [dataMount] })],
        }),
      );
    },
    check: async (target) => {
      for (const name of ['hosts-gigabyte', 'hosts-sparse', 'hosts-text', 'hosts-blanks'])
        await target.untilPod(name, 'to run again', (status) => {
          const [main] = status.containerStatuses ?? [];
          return restarted(status) && main?.state?.running !== undefined;
        });
    },
  },
  {
    name: 'links, FIFOs, devices and directories in place of /etc/hosts over restarts',
    pods: (target) =>
      Object.entries(replacements(target)).map(([kind, replace]) =>
        hostilePod(`hosts-${kind}`, {
          volumes: [data, onNode(target).pods],
          containers: [
            hostile(
              'main',
              atFirst(
                `cd /pods/$POD_UID; rm etc-hosts; ${replace} etc-hosts`,
                `cat /etc/hosts; ${exitsOnTerm}`,
              ),
              { env: [podUid], volumeMounts: [dataMount, nodeMounts.pods] },
            ),
          ],
        }),
      ),
    check: async (target) => {
      for (const kind of Object.keys(replacements(target))) {
        const name = `hosts-${kind}`;
        await target.untilPod(name, 'to have its second start succeed or fail', (status) => {
          const [main] = status.containerStatuses ?? [];
          const { running, waiting } = main?.state ?? {};
          return (restarted(status) && running !== undefined) || /Error/.test(waiting?.reason ?? '');
        });
        const { text } = await target.request(`/containerLogs/default/${name}/main`);
        expect([kind, text.includes(target.canary.secret)]).toEqual([kind, false]);
      }
    },
  },
  {
    name: 'termination messages that are sparse gigabytes',
    pods: () => [
      hostilePod('last-gigabytes', {
        restartPolicy: 'Never',
        containers: [
          hostile('sparse', `truncate -s ${sparse} /dev/termination-log; exit 1`),
          hostile(
            'end',
            `truncate -s ${sparse} /dev/termination-log; echo end >> /dev/termination-log; exit 1`,
          ),
          hostile('other-path', `truncate -s ${sparse} /etc/hosts; exit 1`, {
            terminationMessagePath: '/etc/hosts',
          }),
        ],
      }),
    ],
    check: async (target) => {
      const { status } = await target.untilEnded('last-gigabytes');
      const messages = (status?.containerStatuses ?? []).map(({ state }) => state?.terminated?.message ?? '');
      expect(messages.every((message) => message.length <= 4_096)).toBe(true);
    },
  },
  {
    name: 'links, FIFOs, devices and directories in place of termination messages',
    pods: (target) => [
      hostilePod('messages', {
        restartPolicy: 'Never',
        volumes: [onNode(target).pods],
        containers: Object.entries(replacements(target)).map(([kind, replace]) =>
          hostile(kind, `cd /pods/$POD_UID/containers/${kind}; f=$(ls); rm $f; ${replace} $f; exit 1`, {
            env: [podUid],
            volumeMounts: [nodeMounts.pods],
          }),
        ),
      }),
    ],
    check: async (target) => {
      const { status } = await target.untilEnded('messages');
      for (const { name, state } of status?.containerStatuses ?? [])
        expect([name, state?.terminated?.exitCode]).toEqual([name, 1]);
    },
  },
  {
    name: 'a directory of termination messages that is a link at the next start',
    pods: (target) => [
      hostilePod('message-folder', {
        volumes: [data, onNode(target).pods],
        containers: [
          hostile(
            'main',
            atFirst(`cd /pods/$POD_UID/containers; mv main old; ln -s ${target.canary.dir} main`),
            { env: [podUid], volumeMounts: [dataMount, nodeMounts.pods] },
          ),
        ],
      }),
    ],
    check: async (target) => {
      await target.untilPod('message-folder', 'to have its second start succeed or fail', (status) => {
        const [main] = status.containerStatuses ?? [];
        const { running, waiting } = main?.state ?? {};
        return (restarted(status) && running !== undefined) || /Error/.test(waiting?.reason ?? '');
      });
    },
  },
  {
    name: 'links, FIFOs, devices and directories in place of logs',
    pods: (target) => {
      const inLogs = (kind: string, script: string): Container =>
        hostile(kind, `cd /logs/default_no-logs_$POD_UID; ${script}; exit 1`, {
          env: [podUid],
          terminationMessagePolicy: 'FallbackToLogsOnError',
          volumeMounts: [nodeMounts.logs],
        });
      return [
        hostilePod('no-logs', {
          restartPolicy: 'Never',
          volumes: [onNode(target).logs],
          containers: [
            ...Object.entries(replacements(target)).map(([kind, replace]) =>
              inLogs(kind, `cd ${kind}; rm 0.log; ${replace} 0.log`),
            ),
            inLogs('parent', `mv parent old; ln -s ${target.canary.dir} parent`),
          ],
        }),
      ];
    },
    check: async (target) => {
      const { status } = await target.untilEnded('no-logs');
      for (const { name, state } of status?.containerStatuses ?? []) {
        expect([name, state?.terminated?.exitCode]).toEqual([name, 1]);
        for (const query of ['', '?tailLines=10', '?follow=true']) {
          const answer = await target.request(`/containerLogs/default/no-logs/${name}${query}`, {
            forMs: 10_000,
          });
          const { complete, text } = answer;
          expect([name, query, complete, text.includes(target.canary.secret)]).toEqual([
            name,
            query,
            true,
            false,
          ]);
        }
      }
      // Directory listings are served as well.
      const listed = await target.request(`/logs/`);
      expect(listed.text).not.toContain(target.canary.secret);
    },
  },
  {
    name: 'a log directory that becomes a link while it is removed',
    pods: (target) => [
      hostilePod('victim', { containers: [hostile('bait')] }),
      hostilePod('swapper', {
        volumes: [onNode(target).logs],
        containers: [
          hostileNode('main', swap(findVictim('/logs', 'bait'), target.canary.dir), {
            ...roomy,
            volumeMounts: [nodeMounts.logs],
          }),
        ],
      }),
    ],
    check: async (target) => {
      const { metadata } = await target.untilRunning('victim');
      const dir = join(target.kubelet.podLogsDir, `default_victim_${metadata?.uid}`, 'bait');
      await waitFor(() => existsSync(join(dir, 'ready')), `${dir}/ready`, 30_000);
    },
  },
  {
    name: 'a volume that becomes a link while it is removed',
    pods: (target) => [
      hostilePod('victim', {
        volumes: [{ name: 'bait', emptyDir: {} }],
        containers: [hostile('main', exitsOnTerm, { volumeMounts: [{ name: 'bait', mountPath: '/bait' }] })],
      }),
      hostilePod('swapper', {
        volumes: [onNode(target).pods],
        containers: [
          hostileNode(
            'main',
            swap(findVictim('/pods', 'volumes/kubernetes.io~empty-dir/bait'), target.canary.dir),
            { ...roomy, volumeMounts: [nodeMounts.pods] },
          ),
        ],
      }),
    ],
    check: async (target) => {
      const victim = await target.untilRunning('victim');
      const dir = volumePath(target, victim, 'bait');
      await waitFor(() => existsSync(join(dir, 'ready')), `${dir}/ready`, 30_000);
    },
  },
  {
    name: 'a tree of 5,000 levels, a directory of 100,000 names and names of all kinds',
    pods: () => {
      const program = `${fillWide}
process.chdir('/data');
fill('wide', 100000);
fs.mkdirSync('odd');
for (const name of ['\\n', ' ', '*', '-rf', '..x', 'x'.repeat(255), '\\u001b[2J', '\\\\', "'"]) fs.writeFileSync('odd/' + name, '');
fs.writeFileSync(Buffer.from([111, 100, 100, 47, 255, 254, 128]), '');
fs.symlinkSync('/', 'odd/root');
fs.symlinkSync('loop', 'odd/loop');
require('net').createServer().listen('/data/odd/socket', () => {
  for (let level = 0; level < ${levels}; level++) { fs.mkdirSync('d'); process.chdir('d'); }
  fs.writeFileSync('/data/done', '');
});
${stay}`;
      return [
        hostilePod('trees', {
          volumes: [data],
          containers: [
            hostileNode('main', program, { ...roomy, volumeMounts: [dataMount] }),
            hostile(
              'special',
              `mkdir /data/special; cd /data/special; mkfifo fifo; mknod zero c 1 5; ${exitsOnTerm}`,
              {
                volumeMounts: [dataMount],
              },
            ),
          ],
        }),
      ];
    },
    check: async (target) => {
      await target.untilRunning('trees');
      const dir = volumePath(target, podOf(target, 'trees'), 'data');
      // The kubelet measures the volume while it grows.
      const isDone = async (): Promise<boolean> => {
        await target.request('/stats/summary');
        return existsSync(join(dir, 'done'));
      };
      await waitFor(isDone, `${dir}/done`, { timeoutMs: 45_000, everyMs: 500 });
      const used = async (): Promise<boolean> => {
        const { pods } = JSON.parse((await target.request('/stats/summary')).text) as Summary;
        const volumes = pods.find(({ podRef }) => podRef.name === 'trees')?.volume ?? [];
        return volumes.some(({ name, inodesUsed = 0 }) => name === 'data' && inodesUsed > levels);
      };
      await waitFor(used, 'the usage of the volume', { timeoutMs: 45_000, everyMs: 500 });
    },
  },
  {
    name: '40 volumes with 100,000 files, measured by many clients at once',
    pods: () => {
      const names = Array.from({ length: 40 }, (_, at) => `v${at}`);
      const fill = `${fillWide}
for (let at = 0; at < 40; at++) fill('/data/v' + at, 2500);
fs.writeFileSync('/data/v0/done', '');
${stay}`;
      return [
        hostilePod('volumes', {
          volumes: names.map((name) => ({ name, emptyDir: {} })),
          containers: [
            hostileNode('main', fill, {
              ...roomy,
              volumeMounts: names.map((name) => ({ name, mountPath: `/data/${name}` })),
            }),
          ],
        }),
      ];
    },
    check: async (target) => {
      await target.untilRunning('volumes');
      const dir = volumePath(target, podOf(target, 'volumes'), 'v0');
      await waitFor(() => existsSync(join(dir, 'done')), `${dir}/done`, 45_000);
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => target.request('/stats/summary?only_cpu_and_memory=false')),
      );
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    },
  },
  {
    name: 'a subPath that is a link out of its volume',
    pods: (target) => [
      hostilePod('sub-path', {
        volumes: [data],
        initContainers: [
          hostile('first', `ln -s ${target.canary.dir} /data/evil; ln -s /proc/1/root /data/root`, {
            volumeMounts: [dataMount],
          }),
        ],
        containers: ['evil', 'root', 'evil/tree/new'].map((subPath, at) =>
          hostile(`c${at}`, exitsOnTerm, { volumeMounts: [{ ...dataMount, subPath }] }),
        ),
      }),
    ],
    check: async (target) => {
      await target.untilPod('sub-path', 'to be rejected', ({ containerStatuses = [] }) => {
        const rejected = containerStatuses.filter(({ state }) => /Error/.test(state?.waiting?.reason ?? ''));
        return rejected.length === 3;
      });
      const { message } = await target.untilEvent('sub-path', 'Failed');
      expect(message).not.toBe('');
    },
  },
];
