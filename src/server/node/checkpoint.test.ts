import { expect, test } from 'vitest';
import type { Container as CriContainer } from '../../api/cri/generated/runtime/v1/api.ts';
import { criLabels } from '../../api/cri/labels.ts';
import type { CriRuntime } from '../../api/cri/runtime.ts';
import { asPodUid } from '../../api/pod/pod-ref.ts';
import { KubeletError } from '../../base/errors.ts';
import { asResponse, httpRequest } from '../fixtures/requests.ts';
import { checkpointHandler } from './checkpoint.ts';

const pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u1' },
  spec: { containers: [{ name: 'c' }], initContainers: [{ name: 'i' }] },
};

async function ask(path: string, query = '', fault?: KubeletError) {
  const asked: unknown[] = [];
  const container = { id: 'id1', metadata: { name: 'c', attempt: 0 }, createdAt: 1n } as CriContainer;
  const cri = {
    listContainers: async (request: Parameters<CriRuntime['listContainers']>[0]) => {
      expect(request.filter?.labelSelector).toEqual({ [criLabels.podUid]: 'u1' });
      return { containers: [container] };
    },
    listPodSandbox: async () => ({ items: [] }),
    checkpointContainer: async (request: object) => {
      asked.push(request);
      if (fault !== undefined) throw fault;
      return {};
    },
  };
  const handle = checkpointHandler({
    desired: { all: () => [{ uid: asPodUid('u1'), pod, source: 'api' }] },
    cri,
    directory: '/root/checkpoints',
    clock: { now: () => Date.UTC(2026, 0, 2, 3, 4, 5, 678) },
  });
  const [podNamespace = '', podID = '', containerName = ''] = path.split('/');
  const answer = asResponse(
    await handle({
      ...httpRequest(`POST /checkpoint/${path}${query}`),
      params: { podNamespace, podID, containerName },
    }),
  );
  return { asked, status: answer.status, body: answer.body };
}

const location = '/root/checkpoints/checkpoint-web_default-c-2026-01-02T03:04:05Z.tar';
const unimplemented = new KubeletError('invalid', 'UNIMPLEMENTED', 'not implemented');

test.each([
  ['default/none/c', '', undefined, 404, 'pod does not exist'],
  ['other/web/c', '', undefined, 404, 'pod does not exist'],
  ['default/web/x', '', undefined, 404, 'container x does not exist'],
  ['default/web/c', '?timeout=soon', undefined, 404, 'cannot parse value of timeout parameter'],
  ['default/web/i', '', undefined, 500, 'checkpointing of default/web/i failed (container i not found)'],
  ['default/web/c', '', undefined, 200, `{"items":["${location}"]}`],
  [
    'default/web/c',
    '',
    unimplemented,
    500,
    'checkpointing of default/web/c failed (rpc error: code = Unimplemented desc = not implemented)',
  ],
] as const)('POST /checkpoint/%s%s', async (path, query, fault, status, body) => {
  expect(await ask(path, query, fault)).toMatchObject({ status, body });
});

test('passes location and timeout to the runtime, the last of several timeouts', async () => {
  expect((await ask('default/web/c', '?timeout=1&timeout=20')).asked).toEqual([
    { containerId: 'id1', location, timeout: 20n },
  ]);
});
