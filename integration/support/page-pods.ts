// The pods that the tests of the node's page display.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Pod } from '../../src/api/k8s/types.ts';
import { container, exitsOnTerm, manifest } from './manifest.ts';

/** Prints `count 1`, `count 2` … and exits on SIGTERM. */
function counts(perSecond: number, label = 'count'): string {
  return `trap 'exit 0' TERM; i=0; while :; do i=$((i+1)); echo ${label} $i; sleep ${1 / perSecond}; done`;
}

/** Two containers; the first counts in its log. */
export const steadyPod = (name: string, perSecond = 10): Pod =>
  manifest(name, {
    containers: [container('counter', counts(perSecond)), container('ticker', counts(2, 'tick'))],
  });

export const crashingPod = (name: string): Pod =>
  manifest(name, {
    containers: [
      container('main', 'echo loading; echo no such table: users >&2; sleep 0.3; exit 3'),
      container('beside'),
    ],
  });

/** An init container, a volume that it fills, and a readiness probe that succeeds after a while. */
export const stagedPod = (name: string, initSeconds = 0.5): Pod => {
  const volumeMounts = [{ name: 'data', mountPath: '/data' }];
  return manifest(name, {
    volumes: [{ name: 'data', emptyDir: {} }],
    initContainers: [
      container('prepare', `echo preparing; sleep ${initSeconds}; date > /data/ready`, { volumeMounts }),
    ],
    containers: [
      container('main', `sleep 1; touch /data/serving; ${exitsOnTerm}`, {
        volumeMounts,
        readinessProbe: { exec: { command: ['cat', '/data/serving'] }, periodSeconds: 1 },
      }),
    ],
  });
};

export const markup = '"><img src=x onerror=window.__pwned=1>';
/** Markup, a script, a URL that runs, terminal escapes, a line separator, text that changes direction. */
const hostileText = [
  markup,
  '<script>window.__pwned=1</script>',
  'javascript:window.__pwned=1',
  '\u001b[31mred\u001b[0m\u001b]0;title\u0007\u001b[2J',
  'before\u2028after',
  '\u202eetar\u202c',
  '${window.__pwned=1}{{constructor.constructor("window.__pwned=1")()}}',
].join(' ');

/** Hostile text wherever the API server's validation allows it. */
export function hostilePod(name: string, dir: string): Pod {
  const hostPath = join(dir, '<img src=x onerror=window.__pwned=1>');
  mkdirSync(hostPath, { recursive: true });
  const over = {
    env: [{ name: 'HOSTILE', value: hostileText }],
    args: ['sh', hostileText],
  };
  return manifest(name, {
    metadata: { name, annotations: { 'example.com/note': hostileText } },
    volumes: [{ name: 'evil', hostPath: { path: hostPath } }],
    containers: [
      container(
        'main',
        'trap "exit 0" TERM; while :; do echo "$HOSTILE"; echo "$HOSTILE" >&2; sleep 0.5; done',
        {
          ...over,
          volumeMounts: [{ name: 'evil', mountPath: '/evil' }],
          readinessProbe: {
            exec: { command: ['sh', '-c', 'echo "$HOSTILE"; exit 1'] },
            periodSeconds: 1,
          },
        },
      ),
      container('ender', 'echo "$HOSTILE"; echo "$HOSTILE" > /dev/termination-log; exit 3', over),
      container('puller', exitsOnTerm, { image: markup }),
    ],
  });
}
