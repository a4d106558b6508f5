// Attacks by pod objects, secrets and image configurations, and by resource usage.
import { expect } from 'vitest';
import type { EnvVar, Pod } from '../../../src/api/k8s/types.ts';
import type { Summary } from '../../../src/stats/summary/summary.ts';
import { buildBusyboxImage } from '../../rig/images.ts';
import { buildImage } from '../../rig/oci.ts';
import { waitFor } from '../../rig/wait.ts';
import { exitsOnTerm } from '../manifest.ts';
import type { Attack } from './attack.ts';
import { hostile, hostilePod, pidsLimit, type Target } from './target.ts';

/** Every variable expands to the previous one twice: 25 of them are 1.6 GB. */
const doubling: readonly EnvVar[] = Array.from({ length: 26 }, (_, at) => ({
  name: `A${at}`,
  value: at === 0 ? 'x'.repeat(50) : `$(A${at - 1})$(A${at - 1})`,
}));
const opened = '$('.repeat(50_000);
const dollars = '$'.repeat(100_000);

/** Whether the pod is running, or rejected with a readable reason. */
function isDecided({ status }: Pod): boolean {
  const all = status?.containerStatuses ?? [];
  const decided = all.filter(
    ({ state, lastState }) =>
      state?.running !== undefined ||
      /Err|BackOff/.test(state?.waiting?.reason ?? '') ||
      (state?.terminated ?? lastState?.terminated) !== undefined,
  );
  return all.length > 0 && decided.length === all.length;
}

const reasonsOf = (pod: Pod): readonly string[] =>
  (pod.status?.containerStatuses ?? []).map(
    ({ state }) => state?.waiting?.reason ?? state?.terminated?.reason ?? 'running',
  );

/** Forks as often as it can, and keeps the processes. */
const bomb = '(while :; do sleep 300 & done) 2>/dev/null';

/** A host name on which matching a glob with many stars backtracks exponentially. */
const host = `${'a'.repeat(50)}b.example.com`;
const globs = ['*a', '*a*', 'a*', '?*', '[a-z]*'].map((part) => `${part.repeat(24)}c.example.com`);

/** `many` has more registries than the kubelet considers. */
function addPullSecrets(target: Target): void {
  const auth = { auth: Buffer.from('user:password').toString('base64') };
  const many = Array.from({ length: 9_000 }, (_, at) => [
    `*${'a*'.repeat(15)}${at}.example.com/${'p/'.repeat(10)}`,
    auth,
  ]);
  const auths: Readonly<Record<string, string>> = {
    globs: JSON.stringify(Object.fromEntries(globs.map((glob) => [glob, auth]))),
    many: JSON.stringify(Object.fromEntries(many)),
    deep: `${'{"x":'.repeat(50_000)}1${'}'.repeat(50_000)}`,
  };
  for (const [name, value] of Object.entries(auths)) {
    const text = `{"auths":${value}}`;
    target.cluster.double.objects.create('secrets', {
      metadata: { name, namespace: 'default' },
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': Buffer.from(text).toString('base64') },
    });
  }
}

const pulling = (name: string, ...secrets: readonly string[]): Pod =>
  hostilePod(name, {
    imagePullSecrets: secrets.map((secret) => ({ name: secret })),
    containers: [hostile('main', exitsOnTerm, { image: `${host}/team/app:1`, imagePullPolicy: 'Always' })],
  });

async function addHostileImages(target: Target): Promise<void> {
  const many = (count: number, bytes: number): readonly string[] =>
    Array.from({ length: count }, (_, at) => `V${at}=${'$(V)'.repeat(bytes / 4)}`);
  const specs = {
    env: { env: ['PATH=/bin', ...many(10_000, 100)] },
    words: { entrypoint: Array.from({ length: 10_000 }, () => 'x'.repeat(100)) },
    user: { user: 'x'.repeat(1_000_000) },
    'user-number': { user: '99999999999999999999:-1' },
    folder: { workingDir: `/${'x/'.repeat(50_000)}` },
    signal: { stopSignal: `SIG${'$('.repeat(10_000)}` },
  } as const;
  const busybox = await buildBusyboxImage();
  target.rig.registry.add('team/app:1', busybox);
  for (const [name, spec] of Object.entries(specs))
    target.rig.registry.add(
      `evil/${name}:1`,
      await buildImage({ layers: [[{ path: 'bin', folder: true }]], ...spec }),
    );
}

export const objectAttacks: readonly Attack[] = [
  {
    name: 'variables that double in size with every reference',
    pods: () => [
      hostilePod('doubling', {
        containers: [
          hostile('env', exitsOnTerm, { env: [...doubling] }),
          hostile('args', exitsOnTerm, { env: doubling.slice(0, 12), args: ['$(A11)'.repeat(5_000)] }),
          hostile('open', exitsOnTerm, { env: [{ name: 'A', value: opened }], args: [opened, dollars] }),
        ],
      }),
    ],
    check: async (target) => {
      const pod = await target.untilPod('doubling', 'to run or to be rejected', (_status, seen) =>
        isDecided(seen),
      );
      const [args, env, open] = (pod.status?.containerStatuses ?? []).map(
        ({ state }) => state?.running !== undefined,
      );
      expect({ args, env, open }).toEqual({ args: false, env: false, open: true });
      await target.untilEvent('doubling', 'Failed');
    },
  },
  {
    name: 'pull secrets with globs of many stars, of 50,000 levels, and of a megabyte',
    prepare: async (target) => {
      addPullSecrets(target);
      await addHostileImages(target);
    },
    pods: () => [
      pulling('globs', 'globs'),
      pulling('deep', 'deep', 'globs'),
      pulling('many', 'many', 'globs'),
    ],
    check: async (target) => {
      await target.untilRunning('globs');
      for (const name of ['deep', 'many'])
        await target.untilPod(name, 'to run or to be rejected', (_status, seen) => isDecided(seen));
    },
  },
  {
    name: 'images with hostile configurations',
    prepare: addHostileImages,
    pods: (target) =>
      ['env', 'words', 'user', 'user-number', 'folder', 'signal'].map((name) =>
        hostilePod(`image-${name}`, {
          restartPolicy: 'Never',
          containers: [
            hostile('root', exitsOnTerm, { image: `${target.rig.registry.host}/evil/${name}:1` }),
            hostile('user', exitsOnTerm, {
              image: `${target.rig.registry.host}/evil/${name}:1`,
              securityContext: { runAsNonRoot: true },
            }),
          ],
        }),
      ),
    check: async (target) => {
      for (const name of ['env', 'words', 'user', 'user-number', 'folder', 'signal']) {
        const pod = await target.untilPod(`image-${name}`, 'to run or to be rejected', (_status, seen) =>
          isDecided(seen),
        );
        for (const { state } of pod.status?.containerStatuses ?? [])
          expect(JSON.stringify(state).length).toBeLessThan(20_000);
        expect(reasonsOf(pod)).not.toContain('');
      }
    },
  },
  {
    name: 'names, labels, annotations, ports and variables of the greatest allowed number and size',
    pods: () => {
      const count = <T>(length: number, make: (at: number) => T): T[] =>
        Array.from({ length }, (_, at) => make(at));
      const word = 'x'.repeat(63);
      return [
        hostilePod(`long.${'y'.repeat(60)}.${'z'.repeat(60)}.${'w'.repeat(60)}`, {
          metadata: {
            labels: Object.fromEntries(
              count(500, (at) => [`${'l'.repeat(50)}.example.com/${word.slice(6)}${at}`, word]),
            ),
            annotations: Object.fromEntries(count(50, (at) => [`a${at}`, '$(\\u0000\u001b[2J'.repeat(300)])),
          },
          hostAliases: count(1_000, (at) => ({ ip: `192.0.2.${at % 250}`, hostnames: [`${word}.${at}`] })),
          containers: [
            hostile('c'.repeat(63), exitsOnTerm, {
              env: count(3_000, (at) => ({ name: `V${at}`, value: `$(V${at - 1})${at}`.slice(0, 20) })),
              ports: count(2_000, (at) => ({ containerPort: at + 1, name: `p${at}` })),
              terminationMessagePath: `/${'t/'.repeat(500)}x`,
              workingDir: `/${'w/'.repeat(500)}`,
            }),
          ],
        }),
        hostilePod('n'.repeat(253)),
      ];
    },
    check: async (target) => {
      for (const { metadata } of target.cluster.double.objects.list('pods')) {
        const name = metadata?.name ?? '';
        if (name === 'neighbour') continue;
        await target.untilPod(name, 'to run or to be rejected', ({ phase }, pod) => {
          const refused = target.events(name).some(({ type }) => type === 'Warning');
          return phase === 'Failed' || refused || isDecided(pod);
        });
      }
    },
  },
  {
    name: 'a fork bomb and busy loops within their limits',
    pods: () => [
      hostilePod('bomb', {
        containers: [hostile('main', `${bomb} & ${bomb} & ${bomb} & exec sleep 3000`)],
      }),
      hostilePod('busy', {
        containers: [
          hostile('main', `for i in 1 2 3 4 5 6 7 8; do while :; do :; done & done; ${exitsOnTerm}`),
          hostile('exits', 'exit 1'),
        ],
      }),
    ],
    check: async (target) => {
      const processes = async (): Promise<number> => {
        const { pods } = JSON.parse((await target.request('/stats/summary')).text) as Summary;
        return pods.find(({ podRef }) => podRef.name === 'bomb')?.process_stats?.process_count ?? 0;
      };
      await waitFor(async () => (await processes()) > pidsLimit / 2, 'the fork bomb to grow', 30_000);
      for (let at = 0; at < 5; at++) {
        expect(await processes()).toBeLessThanOrEqual(pidsLimit + 1);
        await target.request('/run/default/bomb/main?cmd=true', { method: 'POST', forMs: 5_000 });
      }
    },
  },
];
