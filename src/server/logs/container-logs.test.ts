import { expect, test } from 'vitest';
import {
  aContainer,
  anObservedContainer,
  anObservedPod,
  aPod,
  exited,
} from '../../../test/builders/builders.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { Pod, PodStatus } from '../../api/k8s/types.ts';
import type { ObservedPod } from '../../api/pod/observed.ts';
import { asContainerId, asPodUid, type PodUid } from '../../api/pod/pod-ref.ts';
import { Channel } from '../../base/channel.ts';
import { KubeletError } from '../../base/errors.ts';
import { silentLogger } from '../../base/log/log.ts';
import { type ContainerLogsDeps, containerLogs } from './container-logs.ts';

const uid = asPodUid('u1');
const line = (text: string): string => `2024-01-01T00:00:01Z stdout F ${text}\n`;
const running: PodStatus = {
  containerStatuses: [
    {
      name: 'c',
      image: 'i',
      imageID: '',
      ready: true,
      restartCount: 1,
      containerID: 'containerd://new',
      state: { running: {} },
      lastState: { terminated: { exitCode: 1, containerID: 'containerd://old' } },
    },
  ],
};

interface Over {
  readonly pods?: readonly { readonly uid: PodUid; readonly pod: Pod }[];
  readonly status?: PodStatus | undefined;
  readonly seen?: ObservedPod;
  readonly files?: Record<string, string>;
  readonly splitStreams?: boolean;
}

function bench(over: Over = {}) {
  const pod = aPod({ name: 'web', containers: [aContainer({ name: 'c' })] });
  const files: Record<string, string> = over.files ?? {
    '/logs/new': line('new'),
    '/logs/old': line('old'),
  };
  let open = 0;
  const deps: ContainerLogsDeps = {
    desired: { all: () => over.pods ?? [{ uid, pod }] },
    statuses: { get: () => ('status' in over ? over.status : running) },
    observed: {
      get: () =>
        over.seen ??
        anObservedPod({
          containers: [
            anObservedContainer({ id: asContainerId('new'), name: 'c', logPath: '/logs/new' }),
            exited(1, { id: asContainerId('old'), name: 'c', logPath: '/logs/old' }),
          ],
        }),
      changed: new Channel<PodUid>(),
    },
    files: {
      open: async (path) => {
        const text = files[path];
        if (text === undefined) return undefined;
        if (text === 'forbidden') throw new KubeletError('forbidden', 'LinkLeadsOut', 'it leads out');
        open += 1;
        const bytes = Buffer.from(text);
        return {
          identity: path,
          name: async () => '0.log',
          compressed: false,
          read: async (buffer, at) => bytes.copy(buffer, 0, at),
          size: async () => bytes.length,
          close: async () => {
            open -= 1;
          },
        };
      },
      rotated: async () => [],
      identity: async (path) => path,
      watch: () => ({ close: () => undefined }),
    },
    turns: { take: async () => undefined },
    clock: new FakeClock(),
    log: silentLogger,
    splitStreams: over.splitStreams ?? false,
  };
  const ask = async (path: string, query = ''): Promise<string> => {
    const [namespace = '', name = '', container = ''] = path.split('/');
    const signal = new AbortController().signal;
    const parts = { namespace, pod: name, container, query: new URLSearchParams(query), signal };
    const { body, status } = await containerLogs(deps, parts);
    if (typeof body === 'string' || body instanceof Uint8Array) return `${status} ${String(body)}`;
    let text = '';
    for await (const chunk of body) text += Buffer.from(chunk).toString();
    expect(open).toBe(0);
    return `${status} ${text}`;
  };
  return { ask };
}

const web = 'default/web/c';
const cases: readonly (readonly [name: string, over: Over, path: string, query: string, want: string])[] = [
  ['the running container', {}, web, '', '200 new\n'],
  ['the previous container', {}, web, 'previous=true', '200 old\n'],
  ['following the previous container ends', {}, web, 'previous=true&follow=true', '200 old\n'],
  ['no pod name', {}, 'default//c', '', '400 {"message": "Missing podID."}'],
  ['no container name', {}, 'default/web/', '', '400 {"message": "Missing container name."}'],
  ['no namespace', {}, '/web/c', '', '400 {"message": "Missing podNamespace."}'],
  ['undecodable', {}, web, 'tailLines=x', '400 {"message": "Unable to decode query."}'],
  [
    'invalid options are reported before an unknown pod',
    {},
    'default/other/c',
    'tailLines=-1',
    '422 {"message": "Invalid request."}',
  ],
  ['unknown pod', {}, 'default/other/c', '', '404 pod "other" does not exist'],
  ['pod of another namespace', {}, 'kube-system/web/c', '', '404 pod "web" does not exist'],
  ['unknown container', {}, 'default/web/x', '', '404 container "x" not found in pod "web"'],
  [
    'one stream without the gate',
    {},
    web,
    'stream=Stdout',
    '400 unable to return the given log stream: "Stdout". Please enable PodLogsQuerySplitStreams feature gate in kubelet',
  ],
  ['one stream with the gate', { splitStreams: true }, web, 'stream=Stderr', '200 '],
  ['no status yet', { status: undefined }, web, '', '400 container "c" in pod "web" is not available'],
  [
    'a container that the runtime has removed',
    { seen: anObservedPod({ containers: [] }) },
    web,
    '',
    '400 unable to retrieve container logs for containerd://new',
  ],
  ['no file', { files: {} }, web, '', '400 failed to open log file "/logs/new": no such file'],
  ['a file that is rejected', { files: { '/logs/new': 'forbidden' } }, web, '', '400 it leads out'],
];

for (const [name, over, path, query, want] of cases) {
  test(`containerLogs: ${name}`, async () => {
    expect(await bench(over).ask(path, query)).toBe(want);
  });
}

test('uses the status in the API server right after the start of the kubelet', async () => {
  const pod = { ...aPod({ name: 'web', containers: [aContainer({ name: 'c' })] }), status: running };
  expect(await bench({ status: undefined, pods: [{ uid, pod }] }).ask(web)).toBe('200 new\n');
});
