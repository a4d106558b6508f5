import { beforeEach, describe, expect, test } from 'vitest';
import type { Pod, PodStatus } from '../api/k8s/types.ts';
import type { ObservedContainer, ObservedPod, ObservedSandbox } from '../api/pod/observed.ts';
import { asContainerId, asPodUid, asSandboxId, type PodUid } from '../api/pod/pod-ref.ts';
import { asResponse, bodyText, httpRequest } from './fixtures/requests.ts';
import type { HttpHandler, HttpResponse } from './http-message.ts';
import { metricsHandler } from './metrics-handlers.ts';
import { HealthSlis } from './node/health-slis.ts';
import { route } from './router.ts';
import { readOnlyRoutes, stateHandlers } from './state-handlers.ts';

const uid = asPodUid('u1');

function webPod(fields: Partial<Pod> = {}): Pod {
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: 'web-node1', namespace: 'default', uid: 'u1' },
    spec: {
      initContainers: [{ name: 'i', image: 'busybox' }],
      containers: [
        { name: 'c', image: 'busybox', args: ['a<b && c>d'], resources: { limits: { cpu: '1' } } },
      ],
    },
    ...fields,
  };
}

const ignored = {} as ObservedContainer & ObservedSandbox;
const box = (id: string, ready: boolean, createdAtMs: number): ObservedSandbox => ({
  ...ignored,
  id: asSandboxId(id),
  ready,
  createdAtMs,
});
const part = (name: string, state: ObservedContainer['state'], createdAtMs: number): ObservedContainer => ({
  ...ignored,
  id: asContainerId(name),
  name,
  image: `${name}:1`,
  state,
  createdAtMs,
});
const seenPod = (
  name: string,
  sandboxes: ObservedSandbox[],
  containers: ObservedContainer[],
): ObservedPod => ({
  uid: asPodUid(`uid-${name}`),
  name,
  namespace: 'default',
  sandboxes,
  containers,
  observedAtMs: 0,
});

function bench() {
  const desired = {
    version: 0,
    pods: [] as { uid: PodUid; pod: Pod }[],
    reads: 0,
    all() {
      this.reads += 1;
      return this.pods;
    },
  };
  const statuses = {
    version: 0,
    map: new Map<PodUid, PodStatus>(),
    get: (key: PodUid) => statuses.map.get(key),
  };
  const observed = { version: 0, map: new Map<PodUid, ObservedPod>(), all: () => observed.map };
  const handlers = stateHandlers({
    stores: { desired, statuses, observed },
    checks: [],
    slis: new HealthSlis(),
    configz: () => ({ kubeletconfig: { maxPods: 110 } }),
    flagz: () => [['max-pods', '110']],
    explainEviction: async () => ({ explanation: 'none' }),
    explain: () => ({ pods: [{ name: 'p', explanation: 'ended' }] }),
  });
  const handle = route(
    readOnlyRoutes({
      ...handlers,
      metrics: metricsHandler(() => 'kubelet_up 1\n'),
      probeMetrics: metricsHandler(() => 'prober_probe_total 1\n'),
    }),
  );
  return { desired, statuses, observed, handle, handlers };
}

async function get(handle: HttpHandler, path: string, method = 'GET'): Promise<HttpResponse> {
  return asResponse(await handle(httpRequest(`${method} ${path}`)));
}

const body = async (handle: HttpHandler, path: string): Promise<string> => bodyText(await get(handle, path));

describe('read-only port', () => {
  let b = bench();
  beforeEach(() => {
    b = bench();
  });

  test('renders an empty list', async () => {
    const answer = await get(b.handle, '/pods');
    expect(answer.headers).toEqual({ 'content-type': 'application/json' });
    expect(await bodyText(answer)).toBe('{"kind":"PodList","apiVersion":"v1","metadata":{},"items":null}\n');
  });

  test('renders a pod with its status as Go does', async () => {
    b.desired.pods.push({ uid, pod: webPod({ status: { phase: 'Pending' } }) });
    b.statuses.map.set(uid, { phase: 'Running', podIP: '10.0.0.5' });
    expect(await body(b.handle, '/pods')).toBe(
      '{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[' +
        '{"metadata":{"name":"web-node1","namespace":"default","uid":"u1"},' +
        '"spec":{"initContainers":[{"name":"i","image":"busybox","resources":{}}],' +
        '"containers":[{"name":"c","image":"busybox","args":["a\\u003cb \\u0026\\u0026 c\\u003ed"],"resources":{"limits":{"cpu":"1"}}}]},' +
        '"status":{"phase":"Running","podIP":"10.0.0.5"}}]}\n',
    );
  });

  test("renders the pod's own status, or none, if the kubelet has none yet", async () => {
    b.desired.pods.push(
      { uid, pod: webPod({ status: { phase: 'Pending' } }) },
      { uid: asPodUid('u2'), pod: {} },
    );
    const { items } = JSON.parse(await body(b.handle, '/pods')) as { items: Pod[] };
    expect(items.map(({ status }) => status)).toEqual([{ phase: 'Pending' }, {}]);
    expect(items[1]).toEqual({ metadata: {}, spec: { containers: null }, status: {} });
  });

  test('renders again only if pods or statuses changed', async () => {
    b.desired.pods.push({ uid, pod: webPod() });
    const first = await get(b.handle, '/pods');
    const second = await get(b.handle, '/pods/');
    expect(second.body).toBe(first.body);
    expect(b.desired.reads).toBe(1);
    b.statuses.map.set(uid, { phase: 'Running' });
    b.statuses.version += 1;
    expect(await body(b.handle, '/pods')).toContain('"phase":"Running"');
    b.desired.pods.pop();
    b.desired.version += 1;
    expect(await body(b.handle, '/pods')).toContain('"items":null');
  });

  test('lists running pods, newest first, with their running containers', async () => {
    const pods = [
      seenPod(
        'old',
        [box('s1', true, 100)],
        [
          part('a', 'running', 110),
          part('b', 'exited', 120),
          part('f', 'running', 130),
          part('e', 'running', 130),
        ],
      ),
      seenPod('new', [box('s2', true, 200)], []),
      seenPod('gone', [box('s3', false, 300)], [part('c', 'exited', 310)]),
      seenPod('stray', [box('s4', false, 50)], [part('d', 'running', 60)]),
    ];
    for (const pod of pods) b.observed.map.set(pod.uid, pod);
    const running = async (): Promise<string> => {
      const handle = b.handlers.runningPods;
      if (handle === undefined) throw new Error('no handler');
      return bodyText(await handle({ ...httpRequest('GET /runningpods/'), params: {} }));
    };
    const item = (name: string, containers: object | null): object => ({
      metadata: { name, namespace: 'default', uid: `uid-${name}` },
      spec: { containers },
      status: {},
    });
    const expected = {
      kind: 'PodList',
      apiVersion: 'v1',
      metadata: {},
      items: [
        item('new', null),
        item(
          'old',
          ['e', 'f', 'a'].map((name) => ({ name, image: `${name}:1`, resources: {} })),
        ),
        item('stray', [{ name: 'd', image: 'd:1', resources: {} }]),
      ],
    };
    expect(JSON.parse(await running())).toEqual(expected);
    b.observed.map.clear();
    expect(JSON.parse(await running())).toEqual(expected);
    b.observed.version += 1;
    expect(await running()).toContain('"items":null');
  });

  const others = [
    ['GET', '/healthz', 200, 'ok'],
    ['GET', '/metrics', 200, 'kubelet_up 1\n'],
    ['GET', '/metrics/probes', 200, 'prober_probe_total 1\n'],
    ['GET', '/explain/eviction', 200, '{"explanation":"none"}\n'],
    ['GET', '/explain', 200, '{"pods":[{"name":"p","explanation":"ended"}]}\n'],
    ['GET', '/configz', 404, '404 page not found\n'],
    ['GET', '/flagz', 404, '404 page not found\n'],
    ['GET', '/runningpods/', 405, 'Debug endpoints are disabled.\n'],
    ['GET', '/metrics/slis', 200, ''],
    ['POST', '/pods', 405, '405: Method Not Allowed'],
    ['GET', '/exec/default/web/c', 405, 'Debug endpoints are disabled.\n'],
    ['POST', '/run/default/web/c', 405, 'Debug endpoints are disabled.\n'],
    ['GET', '/logs/', 405, 'Debug endpoints are disabled.\n'],
    ['GET', '/containerLogs/default/web/c', 405, 'Debug endpoints are disabled.\n'],
    ['GET', '/', 404, '404 page not found\n'],
  ] as const;
  for (const [method, path, status, body] of others) {
    test(`${method} ${path}`, async () => {
      expect(await get(b.handle, path, method)).toMatchObject({ status, body });
    });
  }

  test('renders only the changed pod of 500 again', async () => {
    let rendered = 0;
    const metadata = (name: string): object => ({
      toJSON: () => {
        rendered += 1;
        return { name };
      },
    });
    for (let i = 0; i < 500; i++) {
      b.desired.pods.push({ uid: asPodUid(`u${i}`), pod: webPod({ metadata: metadata(`pod-${i}`) }) });
    }
    await get(b.handle, '/pods');
    b.statuses.map.set(asPodUid('u7'), { phase: 'Running' });
    b.statuses.version += 1;
    const { items } = JSON.parse(await body(b.handle, '/pods')) as { items: Pod[] };
    expect(items.map((each) => each.metadata?.name)).toEqual(b.desired.pods.map((_, i) => `pod-${i}`));
    expect(items[7]?.status).toEqual({ phase: 'Running' });
    expect(rendered).toBe(501);
  });
});
