// Attacks by the output of commands in a container: hooks, probes, exec and run, logs.
import { expect } from 'vitest';
import type { Lifecycle, LifecycleHandler, Probe } from '../../../src/api/k8s/types.ts';
import { exitsOnTerm } from '../manifest.ts';
import { type SocketExec, webSocketExec } from '../streams.ts';
import type { Attack } from './attack.ts';
import { hostile, hostilePod, type Target } from './target.ts';

/**
 * The most that fits into one message of the runtime, whose limit is 16 MiB; larger messages never reach the kubelet.
 */
const outputBytes = 16 * 1024 * 1024 - 1024;
/** The longest message that upstream truncates to, with some margin. */
const messageLimit = 12 * 1024;

const zeros = `head -c ${outputBytes} /dev/zero`;
/** Commands that print 16 MiB of text that is hard for superlinear patterns, terminals and decoders. */
const fillers = {
  blanks: `${zeros} | tr '\\0' ' '`,
  newlines: `${zeros} | tr '\\0' '\\n'`,
  'blank-lines': `yes ' \t\r' | head -c ${outputBytes}`,
  escapes: `yes "$(printf '\\033[2J\\033]0;x\\007\\010\\r')" | head -c ${outputBytes}`,
  nuls: zeros,
  'no-utf8': `${zeros} | tr '\\0' '\\377'`,
  brackets: `yes '{[("\\' | tr -d '\\n' | head -c ${outputBytes}`,
} as const;
const fillerNames = Object.keys(fillers) as (keyof typeof fillers)[];

const run = (script: string): LifecycleHandler => ({ exec: { command: ['sh', '-c', script] } });
const failing = (filler: keyof typeof fillers): string => `${fillers[filler]} >&2; exit 1`;
const withHook = (filler: keyof typeof fillers, lifecycle: Lifecycle) =>
  hostile(filler, exitsOnTerm, { lifecycle });
const often = { periodSeconds: 1, timeoutSeconds: 10, failureThreshold: 1 } as const;

/** Every message that the kubelet reports about the pod is truncated. */
function expectShortMessages(target: Target, name: string): void {
  for (const { message = '' } of target.events(name)) expect(message.length).toBeLessThan(messageLimit);
  const status = JSON.stringify(target.cluster.pod(name)?.status ?? {});
  expect(status.length).toBeLessThan(fillerNames.length * messageLimit);
}

export const outputAttacks: readonly Attack[] = [
  {
    name: 'postStart hooks that fail with 16 MiB of output',
    pods: () => [
      hostilePod('post-start', {
        containers: fillerNames.map((filler) => withHook(filler, { postStart: run(failing(filler)) })),
      }),
    ],
    check: async (target) => {
      await target.untilPod('post-start', 'to have run every hook', ({ containerStatuses = [] }) => {
        const failed = containerStatuses.filter(({ state, lastState, restartCount }) => {
          const ended = state?.terminated ?? lastState?.terminated;
          return ended !== undefined || restartCount > 0 || state?.waiting?.reason === 'PostStartHookError';
        });
        return failed.length === fillerNames.length;
      });
      const { message } = await target.untilEvent('post-start', 'FailedPostStartHook');
      expect(message).toContain('PostStartHook failed');
      expectShortMessages(target, 'post-start');
    },
  },
  {
    name: 'postStart hooks that succeed with 16 MiB of output',
    pods: () => [
      hostilePod('chatty', {
        containers: fillerNames.map((filler) => withHook(filler, { postStart: run(fillers[filler]) })),
      }),
    ],
    check: async (target) => {
      await target.untilRunning('chatty');
      expectShortMessages(target, 'chatty');
    },
  },
  {
    name: 'preStop hooks that fail with 16 MiB of output',
    pods: () => [
      hostilePod('pre-stop', {
        terminationGracePeriodSeconds: 10,
        containers: fillerNames.map((filler) => withHook(filler, { preStop: run(failing(filler)) })),
      }),
    ],
    check: async (target) => {
      await target.untilRunning('pre-stop');
      target.cluster.double.objects.delete('pods', 'default', 'pre-stop');
      const { message } = await target.untilEvent('pre-stop', 'FailedPreStopHook');
      expect(message).toContain('PreStopHook failed');
      expectShortMessages(target, 'pre-stop');
    },
  },
  {
    name: 'exec probes that print 16 MiB every second',
    pods: () => {
      const probe = (script: string): Probe => ({ ...run(script), ...often });
      return [
        hostilePod('probed', {
          containers: fillerNames.flatMap((filler, at) => [
            hostile(filler, exitsOnTerm, {
              readinessProbe: probe(at % 2 === 0 ? failing(filler) : fillers[filler]),
            }),
          ]),
        }),
      ];
    },
    check: async (target) => {
      await target.untilPod('probed', 'to have its ready containers ready', ({ containerStatuses = [] }) =>
        containerStatuses.every(
          ({ name, ready }) => ready === (fillerNames.indexOf(name as never) % 2 === 1),
        ),
      );
      const { message } = await target.untilEvent('probed', 'Unhealthy');
      expect(message).toContain('Readiness probe failed');
      expectShortMessages(target, 'probed');
    },
  },
  {
    name: 'exec and run with 16 MiB of output, read and unread',
    pods: () => [hostilePod('printer', { containers: [hostile('main')] })],
    check: async (target) => {
      await target.untilRunning('printer');
      const runOf = (command: string): string =>
        `/run/default/printer/main?cmd=${encodeURIComponent(command)}`;
      const endless = { method: 'POST', forMs: 3_000 } as const;
      const start = (command: readonly string[]): Promise<SocketExec> =>
        webSocketExec(target.cluster, target.kubelet, 'printer/main', command);
      const readsNothing = await start(['yes']);
      readsNothing.socket.pause();
      const [ran, { output }] = await Promise.all([
        target.request(runOf(zeros), { method: 'POST' }),
        start(['sh', '-c', zeros]).then(({ ended }) => ended),
        // The output of run is sent after the command's end, so the client aborts these requests.
        target.request(runOf('yes'), endless).catch(() => undefined),
        target.request(runOf('yes'), { ...endless, readsNothing: true }).catch(() => undefined),
      ]);
      readsNothing.socket.terminate();
      expect(ran).toMatchObject({ status: 200, bytes: outputBytes, complete: true });
      expect(output[1]?.length).toBe(outputBytes);
    },
  },
  {
    name: 'a log flood, followed and requested with a tail of a thousand million lines',
    pods: () => [
      hostilePod('flood', {
        containers: [
          hostile('lines', 'exec yes a line of an endless flood'),
          hostile('no-newline', `exec tr '\\0' x < /dev/zero`),
          hostile('newlines', `exec tr '\\0' '\\n' < /dev/zero`),
        ],
      }),
    ],
    check: async (target) => {
      await target.untilRunning('flood');
      const log = (name: string, query: string): string => `/containerLogs/default/flood/${name}?${query}`;
      const names = ['lines', 'no-newline', 'newlines'];
      const forMs = 6_000;
      // The flood is too fast for some of these to find their first line; only the impact on the node counts.
      const [followed] = await Promise.all(
        names
          .flatMap((name) => [
            target.request(log(name, 'follow=true'), { forMs }),
            target.request(log(name, 'follow=true&tailLines=1'), { forMs, readsNothing: true }),
            target.request(log(name, 'tailLines=1000000000'), { forMs }),
            target.request(log(name, 'tailLines=1000000000&timestamps=true'), { forMs, readsNothing: true }),
          ])
          .map((answer) => answer.catch(() => undefined)),
      );
      expect(followed).toMatchObject({ status: 200, bytes: expect.toSatisfy((bytes: number) => bytes > 0) });
      const last = await target.request(log('lines', 'tailLines=100&limitBytes=1000'));
      expect(last).toMatchObject({ status: 200, bytes: 1_000, complete: true });
    },
  },
  {
    name: 'garbage as termination messages of containers',
    pods: () => [
      hostilePod('message-texts', {
        restartPolicy: 'Never',
        containers: fillerNames.flatMap((filler) => [
          // An empty line costs the runtime forty bytes of log.
          hostile(`log-${filler}`, `(${fillers[filler]}) | head -c 256k; exit 1`, {
            terminationMessagePolicy: 'FallbackToLogsOnError',
          }),
          hostile(`file-${filler}`, `${fillers[filler]} > /dev/termination-log; exit 1`),
        ]),
      }),
    ],
    check: async (target) => {
      const { status } = await target.untilEnded('message-texts');
      for (const { state } of status?.containerStatuses ?? [])
        expect(Buffer.byteLength(state?.terminated?.message ?? '')).toBeLessThanOrEqual(4_096 * 3);
    },
  },
];
