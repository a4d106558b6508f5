// Attacks by servers in a pod, on probes and hooks.
import { expect } from 'vitest';
import type { Container, Probe } from '../../../src/api/k8s/types.ts';
import { waitFor } from '../../rig/wait.ts';
import { exitsOnTerm } from '../manifest.ts';
import type { Attack } from './attack.ts';
import { grpcWayNames, hostileServer, httpWayNames } from './hostile-server.ts';
import { hostile, hostileNode, hostilePod, type Target } from './target.ts';

/** Listens before the other containers of the pod start. */
const server: Container = hostileNode('server', hostileServer, {
  restartPolicy: 'Always',
  resources: { limits: { cpu: '500m', memory: '256Mi' } },
  startupProbe: { tcpSocket: { port: 9000 }, periodSeconds: 1, failureThreshold: 60 },
});
const often = { periodSeconds: 1, timeoutSeconds: 1 } as const;

/** Waits until the server has logged all ways of responding. */
async function untilServed(
  target: Target,
  pod: string,
  port: number,
  ways: readonly string[],
): Promise<void> {
  await waitFor(
    async () => {
      const { text } = await target.request(`/containerLogs/default/${pod}/server`);
      const missing = ways.filter((way) => !text.includes(`${port} ${way}\n`));
      if (missing.length > 0) throw new Error(`not yet: ${missing.join(', ')}`);
      return true;
    },
    `the server to have responded in every way on port ${port}`,
    { timeoutMs: 60_000, everyMs: 250 },
  );
}

const probed = (pod: string, probe: Probe, count: number) =>
  hostilePod(pod, {
    initContainers: [server],
    containers: Array.from({ length: count }, (_, at) =>
      hostile(`c${at}`, exitsOnTerm, { readinessProbe: { ...probe, ...often } }),
    ),
  });

/** Hooks with endless or missing responses, which only the client's limits end. */
const endlessHooks = [
  'informational-flood',
  'endless-headers',
  'endless-header',
  'endless-body',
  'endless-chunks',
  'garbage',
  'redirect-loop',
];

export const serverAttacks: readonly Attack[] = [
  {
    name: 'HTTP probes of servers that respond endlessly, incorrectly or never',
    pods: () => [probed('http-server', { httpGet: { path: '/next', port: 8000 } }, 4)],
    check: async (target) => {
      await untilServed(target, 'http-server', 8000, httpWayNames);
      const { message = '' } = await target.untilEvent('http-server', 'Unhealthy');
      expect(message).toMatch(/^Readiness probe (failed|errored)/);
    },
  },
  {
    name: 'gRPC probes of servers that respond endlessly, incorrectly or never',
    pods: () => [probed('grpc-server', { grpc: { port: 9000 } }, 4)],
    check: async (target) => {
      await untilServed(target, 'grpc-server', 9000, grpcWayNames);
      const { message = '' } = await target.untilEvent('grpc-server', 'Unhealthy');
      expect(message).toMatch(/^Readiness probe (failed|errored)/);
      const pod = target.cluster.pod('grpc-server');
      expect(pod?.status?.containerStatuses?.filter(({ ready }) => ready)).toEqual([]);
    },
  },
  {
    name: 'HTTP hooks to servers that respond endlessly or incorrectly',
    pods: () => [
      hostilePod('hooked', {
        terminationGracePeriodSeconds: 4,
        initContainers: [server],
        containers: endlessHooks.map((way) => {
          const handler = { httpGet: { path: `/${way}`, port: 8000 } };
          return hostile(way, exitsOnTerm, { lifecycle: { postStart: handler, preStop: handler } });
        }),
      }),
    ],
    check: async (target) => {
      await target.untilPod('hooked', 'to have run every hook', ({ containerStatuses = [] }) => {
        const decided = containerStatuses.filter(
          ({ ready, restartCount, state, lastState }) =>
            ready || restartCount > 0 || (state?.terminated ?? lastState?.terminated) !== undefined,
        );
        return decided.length === endlessHooks.length;
      });
      await untilServed(target, 'hooked', 8000, endlessHooks);
    },
  },
  {
    name: 'a postStart hook to an unresponsive server, in a pod that is deleted',
    pods: () => [
      hostilePod('waiting', {
        initContainers: [server],
        containers: ['never', 'drip'].map((way) =>
          hostile(way, exitsOnTerm, {
            lifecycle: { postStart: { httpGet: { path: `/${way}`, port: 8000 } } },
          }),
        ),
      }),
    ],
    check: (target) => untilServed(target, 'waiting', 8000, ['never']),
  },
];
