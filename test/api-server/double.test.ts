// The double beyond the contract: reviews, signing, scheduling, tables, discovery and injected faults.
import { createPublicKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type {
  CertificateSigningRequest,
  SubjectAccessReview,
  TokenRequest,
  TokenReview,
} from '../../src/api/k8s/types.ts';
import type { ApiClient } from '../../src/api/ports/api-client.ts';
import { KubeletError } from '../../src/base/errors.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { ApiServerDouble, adminUser, nodeUser } from './double.ts';
import { memoryClient } from './memory-client.ts';
import { TestAuthority } from './pki.ts';

let clock: FakeClock;
let double: ApiServerDouble;
let authority: TestAuthority;
let admin: ApiClient;
let node: ApiClient;
const signal = new AbortController().signal;

beforeEach(() => {
  clock = new FakeClock();
  authority = new TestAuthority();
  double = new ApiServerDouble({ clock, sign: authority.sign, users: { t: adminUser } });
  admin = memoryClient(double, clock, adminUser).client;
  node = memoryClient(double, clock, nodeUser('n1')).client;
});

afterEach(() => {
  double.close();
  expect(clock.pendingTimers()).toBe(0);
});

function readyNode(name: string): void {
  double.objects.create('nodes', { metadata: { name } });
  const status = { conditions: [{ type: 'Ready', status: 'True' }] };
  double.objects.patch('nodes', '', name, { status }, 'status');
}

async function reason(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'no error',
    (err: unknown) => (err instanceof KubeletError ? `${err.kind} ${err.reason}` : String(err)),
  );
}

describe('reviews', () => {
  const review = (token: string) =>
    node.create<TokenReview>('/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token } }, { signal });

  test('a service account token is valid until it expires or its pod is deleted', async () => {
    readyNode('n1');
    double.objects.create('pods', {
      metadata: { name: 'p', namespace: 'default' },
      spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] },
    });
    const uid = double.objects.get('pods', 'default', 'p')?.metadata?.uid ?? '';
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid };
    const { status } = await node.create<TokenRequest>(
      '/api/v1/namespaces/default/serviceaccounts/default/token',
      { spec: { expirationSeconds: 600, boundObjectRef } },
      { signal },
    );
    const token = status?.token ?? '';
    const reviewed = await review(token);
    expect(reviewed.status).toMatchObject({
      authenticated: true,
      user: {
        username: 'system:serviceaccount:default:default',
        extra: { 'authentication.kubernetes.io/pod-name': ['p'] },
      },
    });
    await clock.advance(600_000);
    expect((await review(token)).status?.authenticated).not.toBe(true);
    expect((await review('nonsense')).status?.authenticated).not.toBe(true);
  });

  test('a node requests tokens for the audiences of the CSI drivers of its pods', async () => {
    readyNode('n1');
    const { objects } = double;
    for (const [name, audience] of [
      ['inline', 'vault'],
      ['claimed', 'store'],
      ['unused', 'other'],
    ] as const)
      objects.create('csidrivers', { metadata: { name }, spec: { tokenRequests: [{ audience }] } });
    objects.create('persistentvolumes', {
      metadata: { name: 'v' },
      spec: { csi: { driver: 'claimed', volumeHandle: 'v' } },
    });
    objects.create('persistentvolumeclaims', {
      metadata: { name: 'c', namespace: 'default' },
      spec: { volumeName: 'v' },
    });
    const pod = objects.create('pods', {
      metadata: { name: 'p', namespace: 'default' },
      spec: {
        nodeName: 'n1',
        volumes: [
          { name: 'a', csi: { driver: 'inline' } },
          { name: 'b', persistentVolumeClaim: { claimName: 'c' } },
        ],
        containers: [{ name: 'c', image: 'i' }],
      },
    });
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: pod.metadata?.uid ?? '' };
    const path = '/api/v1/namespaces/default/serviceaccounts/default/token';
    const request = (audience: string): Promise<TokenRequest> =>
      node.create<TokenRequest>(path, { spec: { audiences: [audience], boundObjectRef } }, { signal });
    for (const audience of ['vault', 'store'])
      expect((await request(audience)).spec?.audiences).toEqual([audience]);
    expect(await reason(request('other'))).toBe('forbidden Forbidden');
  });

  test('only masters may use the API of a kubelet', async () => {
    const ask = (user: string, groups: string[]) =>
      node.create<SubjectAccessReview>(
        '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        {
          spec: {
            user,
            groups,
            resourceAttributes: { verb: 'get', resource: 'nodes', subresource: 'proxy' },
          },
        },
        { signal },
      );
    expect((await ask('a', ['system:masters'])).status?.allowed).toBe(true);
    expect((await ask('b', ['system:authenticated'])).status?.allowed).toBe(false);
  });

  test('rejects requests without credentials and with an invalid token', async () => {
    const answer = (headers: Record<string, string>) =>
      double.handle({ method: 'GET', path: '/api/v1/pods', headers, body: '', signal });
    expect((await answer({})).status).toBe(403);
    expect((await answer({ authorization: 'Bearer x' })).status).toBe(401);
    expect((await answer({ authorization: 'Bearer t' })).status).toBe(200);
  });
});

describe('certificate requests', () => {
  test('of kubelets are signed with the requested key and names', async () => {
    const csr = readFileSync(new URL('fixtures/kubelet-serving.csr', import.meta.url), 'utf8');
    const created = await node.create<CertificateSigningRequest>(
      '/apis/certificates.k8s.io/v1/certificatesigningrequests',
      {
        metadata: { generateName: 'csr-' },
        spec: {
          request: Buffer.from(csr).toString('base64'),
          signerName: 'kubernetes.io/kubelet-serving',
          usages: ['digital signature', 'server auth'],
          expirationSeconds: 3600,
        },
      },
      { signal },
    );
    await clock.settle();
    const { status } = await node.get<CertificateSigningRequest>(
      `/apis/certificates.k8s.io/v1/certificatesigningrequests/${created.metadata?.name}`,
      { signal },
    );
    expect(status?.conditions?.map(({ type }) => type)).toEqual(['Approved']);
    const cert = new X509Certificate(Buffer.from(status?.certificate ?? '', 'base64'));
    expect(cert.verify(createPublicKey(authority.cert))).toBe(true);
    expect(cert.subject).toContain('CN=system:node:n1');
    expect(cert.subjectAltName).toBe('DNS:n1, IP Address:10.0.0.1');
  });
});

describe('controllers', () => {
  test('a pod without a node is bound to a ready node whose taints it tolerates', async () => {
    double.objects.create('pods', {
      metadata: { name: 'p', namespace: 'default' },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    });
    double.objects.create('nodes', { metadata: { name: 'down' } });
    await clock.settle();
    expect(double.objects.get('pods', 'default', 'p')?.spec?.nodeName).toBeUndefined();
    readyNode('up');
    await clock.settle();
    expect(double.objects.get('pods', 'default', 'p')?.spec?.nodeName).toBe('up');
    expect(double.objects.get('nodes', '', 'up')?.spec?.taints).toBeUndefined();
    expect(double.objects.get('nodes', '', 'down')?.spec?.taints).toHaveLength(1);
  });

  test('a new namespace gets its service account and root certificate', async () => {
    await admin.create('/api/v1/namespaces', { metadata: { name: 'new' } }, { signal });
    await clock.settle();
    expect(double.objects.get('serviceaccounts', 'new', 'default')).toBeDefined();
    expect(double.objects.get('configmaps', 'new', 'kube-root-ca.crt')).toBeDefined();
  });
});

describe('faults', () => {
  const get = () => admin.get('/api/v1/namespaces/default', { signal, timeoutMs: 5_000 });

  test('fail a number of calls, delay calls, stall calls, and can be removed', async () => {
    double.faults.fail({ verb: 'get', resource: 'namespaces' }, { code: 500, times: 2 });
    expect([await reason(get()), await reason(get()), await reason(get())]).toEqual([
      'internal InternalError',
      'internal InternalError',
      'no error',
    ]);
    const slow = double.faults.slow({ resource: 'namespaces' }, 3_000);
    const late = reason(get());
    await clock.advance(2_999);
    slow.remove();
    await clock.advance(1);
    expect(await late).toBe('no error');
    const stall = double.faults.stall({ resource: 'namespaces' });
    const hung = reason(get());
    await clock.settle();
    expect(stall.waiting).toBe(1);
    await clock.advance(5_000);
    expect(await hung).toBe('timeout DeadlineExceeded');
    stall.remove();
    expect(await reason(get())).toBe('no error');
  });

  test('a lost response: the write was carried out', async () => {
    double.faults.fail({ verb: 'create', resource: 'configmaps' }, { code: 500, when: 'after' });
    const body = { metadata: { name: 'x' } };
    const create = () => admin.create('/api/v1/namespaces/default/configmaps', body, { signal });
    expect(await reason(create())).toBe('internal InternalError');
    expect(await reason(create())).toBe('conflict AlreadyExists');
  });

  test('a server that is down is unavailable, and keeps its objects', async () => {
    double.faults.goDown();
    expect(await reason(get())).toBe('unavailable ConnectionFailed');
    double.faults.comeUp();
    expect(await reason(get())).toBe('no error');
  });
});

test('a table has a row per object, as kubectl get requests it', async () => {
  readyNode('n1');
  const answer = await double.handle({
    method: 'GET',
    path: '/api/v1/nodes',
    headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' },
    body: '',
    user: adminUser,
    signal,
  });
  const table = JSON.parse(answer.body as string) as { kind: string; rows: { cells: string[] }[] };
  expect(table.kind).toBe('Table');
  expect(table.rows[0]?.cells.slice(0, 3)).toEqual(['n1', 'Ready', '<none>']);
});
