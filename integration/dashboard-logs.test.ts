// The merged logs of the node's page: the secure port of the built command, files of containerd.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import type { Pod } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { waitFor } from './rig/wait.ts';
import { EventStream } from './support/event-stream.ts';
import { container, exitsOnTerm, manifest } from './support/manifest.ts';
import { useNode } from './support/suite-node.ts';

interface Line {
  readonly c: number;
  readonly t: string;
  readonly x: string;
}

const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') === true;

const linesOf = (stream: EventStream): readonly Line[] => stream.all('message') as readonly Line[];

describeOnRig('merged logs', () => {
  let kubelet: Kubelet;
  const streams: EventStream[] = [];
  const pods = useNode((node) => ({ kubelet } = node));
  afterEach(() => {
    for (const stream of streams.splice(0)) stream.close();
  });

  const open = (pod: string, query: string, lastId = ''): EventStream => {
    const path = `/ui/api/logs/default/${pod}-${kubelet.nodeName}?${query}`;
    const stream = new EventStream(kubelet, path, lastId);
    streams.push(stream);
    return stream;
  };
  const texts = (stream: EventStream): readonly string[] => linesOf(stream).map(({ x }) => x);

  test('merges the logs of two containers, and ends at the end of the logs', async () => {
    const say = (name: string): string =>
      `i=0; while [ $i -lt 5 ]; do i=$((i+1)); echo ${name} $i; sleep 0.2; done; ${exitsOnTerm}`;
    await pods.start(
      'pair',
      manifest('pair', { containers: [container('a', say('a')), container('b', say('b'))] }),
    );
    const follower = open('pair', 'follow=true');
    await waitFor(() => texts(follower).length >= 10, 'ten lines', 20_000);
    expect(follower.all('containers')[0]).toEqual([
      { name: 'a', state: 'running' },
      { name: 'b', state: 'running' },
    ]);
    const reader = open('pair', 'containers=b,a');
    await waitFor(() => reader.isEnded, 'the end of the stream', 20_000);
    const times = linesOf(reader).map(({ t }) => t);
    expect(times).toHaveLength(10);
    expect(times).toEqual(times.toSorted());
    expect(reader.all('end')).toEqual([{ why: 'The log is complete' }]);
    const rejected = open('pair', 'tail=x');
    await waitFor(() => rejected.isEnded, 'the rejection', 20_000);
    expect(rejected.status).toBe(400);
  });

  test('a viewer that reconnects after a restart of the kubelet gets every line of a counter once', async () => {
    const count = `i=0; while :; do i=$((i+1)); echo $i; [ $((i % 20)) -ne 0 ] || sleep 0.02; done & wait $!`;
    await pods.start(
      'counter',
      manifest('counter', { containers: [container('main', `trap 'exit 0' TERM; ${count}`)] }),
    );
    const query = 'follow=true&tail=20000';
    const first = open('counter', query);
    await waitFor(() => texts(first).length > 1_000, 'a thousand lines', 20_000);
    await kubelet.stop();
    await waitFor(() => first.isEnded, 'the stream to end with the kubelet', 20_000);
    await kubelet.start({ keepConfig: true });
    const more = async (count: number, lastId: string): Promise<EventStream> => {
      const stream = await waitFor(
        async () => {
          const tried = open('counter', query, lastId);
          await waitFor(() => tried.status !== 0 || tried.isEnded, 'an answer', 20_000);
          return tried.status === 200 ? tried : undefined;
        },
        'the pod to be known again',
        20_000,
      );
      await waitFor(() => texts(stream).length > count, 'more lines', 20_000);
      stream.close();
      return stream;
    };
    const second = await more(500, first.lastId);
    const third = await more(500, second.lastId);
    const all = [first, second, third].flatMap(texts).map(Number);
    expect(all).toEqual(Array.from({ length: all.length }, (_, index) => (all[0] ?? 0) + index));
    expect([first, second, third].flatMap((each) => each.all('skipped'))).toEqual([]);
  });

  test('a container that writes 50 MB/s of garbage costs its viewer 1 MiB/s, and other pods nothing', async () => {
    const garbage = `printf '\\033[31m<script>alert(1)</script>\\033]0;x\\007\\n'; head -c 2500000 /dev/urandom; usleep 50000`;
    const web = container('main', 'mkdir /www; echo ok > /www/healthz; exec httpd -f -p 8080 -h /www', {
      readinessProbe: {
        httpGet: { path: '/healthz', port: 8080 },
        periodSeconds: 1,
        timeoutSeconds: 1,
        failureThreshold: 1,
      },
    });
    await pods.start('web', manifest('web', { containers: [web] }));
    await pods.start(
      'flood',
      manifest('flood', { containers: [container('main', `while :; do ${garbage}; done`)] }),
    );
    const startMs = Date.now();
    const cpuBefore = kubelet.usage().cpuSeconds;
    const viewer = open('flood', 'follow=true');
    const notReady: string[] = [];
    let slowestMs = 0;
    while (Date.now() - startMs < 8_000) {
      const askedMs = Date.now();
      await kubelet.healthz();
      slowestMs = Math.max(slowestMs, Date.now() - askedMs);
      const pod = await kubelet.pod('web');
      if (pod === undefined || !isReady(pod)) notReady.push(JSON.stringify(pod?.status?.conditions));
      await sleep(100);
    }
    const seconds = (Date.now() - startMs) / 1_000;
    const cpu = (kubelet.usage().cpuSeconds - cpuBefore) / seconds;
    const last = linesOf(viewer).at(-1);
    const lagMs = Date.now() - Date.parse(last?.t ?? '');
    pods.remove('flood');
    console.info(
      `flood: ${(viewer.bytes / seconds / 1e6).toFixed(2)} MB/s to the viewer, ${(cpu * 100).toFixed(0)} % of a core, ` +
        `${lagMs} ms behind, /healthz within ${slowestMs} ms, ${viewer.all('skipped').length} gaps`,
    );
    expect(viewer.bytes / seconds).toBeLessThan(1.5 * 1024 * 1024);
    expect(viewer.all('skipped').length).toBeGreaterThan(0);
    expect(lagMs).toBeLessThan(6_000);
    expect(notReady).toEqual([]);
    expect(cpu).toBeLessThan(0.8);
    expect(slowestMs).toBeLessThan(2_000);
  });
});
