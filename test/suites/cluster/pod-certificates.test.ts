// Certificates of pods (podCertificate sources of projected volumes), with real keys, requests and a signer: issued, refused,
// renewed, and over restarts and outages.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Pod, PodCertificateRequest, VolumeProjection } from '../../../src/api/k8s/types.ts';
import { bodyText, httpRequest } from '../../../src/server/fixtures/requests.ts';
import { resourceOf } from '../../api-server/objects/resources.ts';
import { readStubRequest } from '../../api-server/rules/pod-certificate-rules.ts';
import type { PodSignerOptions } from '../../api-server/rules/pod-signer.ts';
import { aContainer, type PodOver } from '../../builders/builders.ts';
import { type ClusterWorld, startCluster } from '../../simulate/cluster-world.ts';

type Source = NonNullable<VolumeProjection['podCertificate']>;

const minuteMs = 60_000;

/** A cluster whose signer decides as `world.signer.decision`. */
async function start(
  { seconds }: Pick<PodSignerOptions, 'seconds'> = {},
  over: Parameters<typeof startCluster>[0] = {},
) {
  const signer: { decision: ReturnType<NonNullable<PodSignerOptions['decide']>> } = { decision: 'issue' };
  const podSigner = { decide: () => signer.decision, ...(seconds === undefined ? {} : { seconds }) };
  const world = await startCluster({ podSigner, ...over });
  return Object.assign(world, { signer });
}
function run(
  world: ClusterWorld,
  over: Partial<Source> = {},
  { name = 'web', command, ...rest }: PodOver & { readonly command?: string[] } = {},
): Pod {
  const source = {
    signerName: 'example.com/s',
    keyType: 'ECDSAP256',
    credentialBundlePath: 'bundle.pem',
    keyPath: 'key.pem',
    certificateChainPath: 'certs.pem',
    ...over,
  };
  return world.run(name, {
    serviceAccountName: 'default',
    volumes: [{ name: 'tls', projected: { sources: [{ podCertificate: source }] } }],
    containers: [
      aContainer({ volumeMounts: [{ name: 'tls', mountPath: '/tls' }], ...(command && { command }) }),
    ],
    ...rest,
  });
}

function requests(world: ClusterWorld): readonly PodCertificateRequest[] {
  return world.api.objects.list('podcertificaterequests', 'default');
}

function file(world: ClusterWorld, pod: Pod, name: string): string {
  const directory = `/var/lib/kubelet/pods/${pod.metadata?.uid}/volumes/kubernetes.io~projected/tls`;
  return world.node.volumes.text(directory, name) ?? '';
}

function events(world: ClusterWorld, ...reasons: readonly string[]): readonly string[] {
  return world.api.objects
    .list('events', 'default')
    .filter(({ reason = '' }) => reasons.includes(reason))
    .map(({ reason, message, count }) => `${reason} ${count}: ${message}`);
}

const notIssued = 'MountVolume.SetUp failed for volume "tls" : credential bundle is not issued yet';

function failedMounts(world: ClusterWorld): readonly (string | undefined)[] {
  const all = world.api.objects.list('events', 'default').filter(({ reason }) => reason === 'FailedMount');
  return [...new Set(all.map(({ message }) => message))];
}

async function states(world: ClusterWorld): Promise<readonly string[]> {
  const page = await bodyText(await world.node.request(httpRequest('GET /metrics')));
  return page.split('\n').filter((line) => line.startsWith('kubelet_podcertificate_states{'));
}

test('a pod gets key and certificate by requests that a node may make', async () => {
  const world = await start();
  const pod = run(world, {
    maxExpirationSeconds: 7200,
    userAnnotations: { 'example.com/who': 'web' },
  });
  await world.advance(2_000);
  expect(world.phase('web')).toBe('Running');
  const account = world.api.objects.get('serviceaccounts', 'default', 'default');
  const [request, ...others] = requests(world);
  expect(others).toEqual([]);
  expect(request).toMatchObject({
    metadata: {
      namespace: 'default',
      name: expect.stringMatching(/^req-/),
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'web', uid: pod.metadata?.uid }],
    },
    spec: {
      signerName: 'example.com/s',
      podName: 'web',
      podUID: pod.metadata?.uid,
      serviceAccountName: 'default',
      serviceAccountUID: account?.metadata?.uid,
      nodeName: 'n',
      nodeUID: world.nodeObject()?.metadata?.uid,
      maxExpirationSeconds: 7200,
      unverifiedUserAnnotations: { 'example.com/who': 'web' },
    },
  });
  const stub = readStubRequest(Buffer.from(request?.spec.stubPKCS10Request ?? '', 'base64'));
  expect(stub).toMatchObject({ isSigned: true, isEmpty: true });

  const [key, chain] = [file(world, pod, 'key.pem'), file(world, pod, 'certs.pem')];
  expect(file(world, pod, 'bundle.pem')).toBe(key + chain);
  expect(chain.match(/-----BEGIN CERTIFICATE-----/g)).toHaveLength(2);
  expect(chain).toMatch(/^-----BEGIN CERTIFICATE-----\n[^-]+-----END CERTIFICATE-----\n-----BEGIN CERT/);
  expect(new X509Certificate(chain).checkPrivateKey(createPrivateKey(key))).toBe(true);

  expect(world.forbidden()).toEqual([]);
  expect(await states(world)).toEqual([
    'kubelet_podcertificate_states{signer_name="example.com/s",state="fresh"} 1',
  ]);
  expect(world.node.log.join('\n')).not.toContain('PRIVATE KEY');
});

test('a pod waits for its signer with a reason, and starts when the watch reports the certificate', async () => {
  const world = await start();
  world.signer.decision = 'wait';
  const pod = run(world);
  await world.advance(90_000);
  expect(world.phase('web')).toBe('Pending');
  expect(failedMounts(world)).toContain(notIssued);
  const [request] = requests(world);
  const name = request?.metadata?.name;
  expect(world.node.explanation(pod.metadata?.uid ?? '')).toContain(
    `certificate of volume tls is awaited: example.com/s has not signed PodCertificateRequest default/${name}`,
  );
  expect(await states(world)).toEqual([
    'kubelet_podcertificate_states{signer_name="example.com/s",state="not_yet_issued"} 1',
  ]);
  const reads = world.requestCount(`get podcertificaterequests default/${name}`);
  const [lists, watches] = ['list', 'watch'].map((verb) =>
    world.requestCount(`${verb} podcertificaterequests`),
  );
  expect([reads, lists, watches]).toEqual([0, 0, 1]);

  world.signer.decision = 'issue';
  world.api.objects.patch('podcertificaterequests', 'default', name ?? '', {
    metadata: { labels: { touched: 'yes' } },
  });
  await world.advance(1_000);
  expect(world.phase('web')).toBe('Running');
  expect(requests(world)).toHaveLength(1);
});

describe('a refusal is final', () => {
  const cases = [
    ['deny', 'denied', 'Denied', 'was denied', 'NotWanted', 'denied by the signer'],
    ['fail', 'failed', 'Failed', 'failed', 'SignerBroken', 'the signer has no key'],
  ] as const;
  test.each(cases)('%s', async (decision, state, event, verb, reason, message) => {
    const world = await start();
    world.signer.decision = decision;
    run(world);
    await world.advance(40 * minuteMs);
    expect(world.phase('web')).toBe('Pending');
    const [request, ...others] = requests(world);
    expect(others).toEqual([]);
    expect(events(world, event)).toEqual([
      `${event} 1: PodCertificateRequest default/${request?.metadata?.name} ${verb}, reason="${reason}", message="${message}"`,
    ]);
    expect(failedMounts(world)).toContain(
      `MountVolume.SetUp failed for volume "tls" : PodCertificateRequest was permanently ${state}: reason="${reason}" message="${message}"`,
    );
    expect(await states(world)).toEqual([
      `kubelet_podcertificate_states{signer_name="example.com/s",state="${state}"} 1`,
    ]);
  });
});

test('renews the certificate in time with a new key, and leaves the container alone', async () => {
  const world = await start({ seconds: 3600 });
  const pod = run(world);
  await world.advance(2_000);
  const [key, chain] = [file(world, pod, 'key.pem'), file(world, pod, 'certs.pem')];
  await world.advance(27 * minuteMs);
  expect(file(world, pod, 'key.pem')).toBe(key);
  // Due after half an hour, at most five minutes later by the jitter.
  await world.advance(10 * minuteMs);
  expect(requests(world)).toHaveLength(2);
  const renewed = file(world, pod, 'certs.pem');
  expect([file(world, pod, 'key.pem') === key, renewed === chain]).toEqual([false, false]);
  expect(new X509Certificate(renewed).checkPrivateKey(createPrivateKey(file(world, pod, 'key.pem')))).toBe(
    true,
  );
  expect([world.callCount('createContainer'), world.callCount('stopContainer')]).toEqual([1, 0]);
  expect(events(world, 'CertificateOverdueForRefresh', 'CertificateExpired')).toEqual([]);
});

test('a certificate whose renewal is not signed stays in use, and is reported overdue and expired once each', async () => {
  const world = await start({ seconds: 3600 });
  const pod = run(world);
  await world.advance(2_000);
  const key = file(world, pod, 'key.pem');
  world.signer.decision = 'wait';
  await world.advance(50 * minuteMs);
  expect(events(world, 'CertificateOverdueForRefresh', 'CertificateExpired')).toEqual([
    'CertificateOverdueForRefresh 1: PodCertificate refresh overdue',
  ]);
  expect((await states(world))[0]).toContain('state="overdue_for_refresh"} 1');
  await world.advance(20 * minuteMs);
  expect(events(world, 'CertificateOverdueForRefresh', 'CertificateExpired')).toEqual([
    'CertificateOverdueForRefresh 1: PodCertificate refresh overdue',
    'CertificateExpired 1: PodCertificate expired',
  ]);
  expect((await states(world))[0]).toContain('state="expired"} 1');
  expect([file(world, pod, 'key.pem') === key, world.phase('web'), world.callCount('stopContainer')]).toEqual(
    [true, 'Running', 0],
  );
  world.signer.decision = 'issue';
  for (const { metadata } of requests(world))
    world.api.objects.patch('podcertificaterequests', 'default', metadata?.name ?? '', {
      metadata: { labels: { touched: 'yes' } },
    });
  await world.advance(1_000);
  expect(file(world, pod, 'key.pem')).not.toBe(key);
  expect((await states(world))[0]).toContain('state="fresh"} 1');
});

test('a renewal that is denied leaves container and files as they are, with events', async () => {
  const world = await start({ seconds: 3600 });
  const pod = run(world);
  await world.advance(2_000);
  const key = file(world, pod, 'key.pem');
  world.signer.decision = 'deny';
  await world.advance(60 * minuteMs);
  expect(requests(world)).toHaveLength(2);
  expect(events(world, 'Denied')).toHaveLength(1);
  expect(failedMounts(world)).toContain(
    'MountVolume.SetUp failed for volume "tls" : PodCertificateRequest was permanently denied: reason="NotWanted" message="denied by the signer"',
  );
  expect([file(world, pod, 'key.pem') === key, world.phase('web'), world.callCount('stopContainer')]).toEqual(
    [true, 'Running', 0],
  );
});

test('two volumes and two sources of one pod have a key each, and wait for each other', async () => {
  const world = await start();
  const source = (name: string): VolumeProjection => ({
    podCertificate: { signerName: `example.com/${name}`, keyType: 'ECDSAP256', keyPath: name },
  });
  const volumes = [
    { name: 'tls', projected: { sources: [source('a'), source('b')] } },
    { name: 'more', projected: { sources: [source('c')] } },
  ];
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  const pod = world.run('web', {
    serviceAccountName: 'default',
    volumes,
    containers: [aContainer({ volumeMounts })],
  });
  await world.advance(2_000);
  expect(world.phase('web')).toBe('Running');
  expect(requests(world).map(({ spec }) => spec.signerName)).toEqual(
    expect.arrayContaining(['example.com/a', 'example.com/b', 'example.com/c']),
  );
  expect(file(world, pod, 'a')).not.toBe(file(world, pod, 'b'));
  expect(await states(world)).toHaveLength(3);
});

test('a deleted request is created again after ten to fifteen minutes', async () => {
  const world = await start();
  world.signer.decision = 'wait';
  run(world);
  await world.advance(2_000);
  const [first] = requests(world);
  world.api.objects.delete('podcertificaterequests', 'default', first?.metadata?.name ?? '');
  await world.advance(9 * minuteMs);
  expect(requests(world)).toEqual([]);
  world.signer.decision = 'issue';
  await world.advance(7 * minuteMs);
  expect([requests(world).length, world.phase('web')]).toEqual([1, 'Running']);
});

test('a kubelet restart disturbs no container: the files stay until a new certificate replaces them', async () => {
  const world = await start();
  const pod = run(world);
  await world.advance(2_000);
  const key = file(world, pod, 'key.pem');
  world.signer.decision = 'wait';
  await world.node.kill();
  await world.node.start();
  await world.advance(10_000);
  expect(requests(world)).toHaveLength(2);
  expect([file(world, pod, 'key.pem') === key, world.phase('web')]).toEqual([true, 'Running']);
  world.signer.decision = 'issue';
  for (const { metadata } of requests(world))
    world.api.objects.patch('podcertificaterequests', 'default', metadata?.name ?? '', {
      metadata: { labels: { touched: 'yes' } },
    });
  await world.advance(1_000);
  expect(file(world, pod, 'key.pem')).not.toBe(key);
  expect(file(world, pod, 'key.pem')).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
  expect([world.callCount('createContainer'), world.callCount('stopContainer')]).toEqual([1, 0]);
  expect(world.node.volumes.mounts).toHaveLength(1);
});

test('a restart while the API server is unreachable keeps the files, and new ones follow when it is back', async () => {
  const world = await start();
  const pod = run(world);
  await world.advance(2_000);
  const key = file(world, pod, 'key.pem');
  world.api.faults.goDown();
  await world.node.stop();
  await world.node.start();
  await world.advance(10 * minuteMs);
  expect(file(world, pod, 'key.pem')).toBe(key);
  world.api.faults.comeUp();
  await world.advance(3 * minuteMs);
  expect(file(world, pod, 'key.pem')).not.toBe(key);
  expect([world.phase('web'), world.callCount('createContainer'), world.callCount('stopContainer')]).toEqual([
    'Running',
    1,
    0,
  ]);
});

test('an outage during the renewal costs nothing: the request is retried until it succeeds', async () => {
  const world = await start({ seconds: 3600 });
  const pod = run(world);
  await world.advance(2_000);
  const key = file(world, pod, 'key.pem');
  world.api.faults.goDown();
  await world.advance(70 * minuteMs);
  expect(file(world, pod, 'key.pem')).toBe(key);
  expect(world.node.explanation(pod.metadata?.uid ?? '')).toMatch(
    /certificate of volume tls could not be requested: while fetching service account: /,
  );
  world.api.faults.comeUp();
  await world.advance(2 * minuteMs);
  expect(requests(world)).toHaveLength(2);
  expect(file(world, pod, 'key.pem')).not.toBe(key);
  expect(world.callCount('stopContainer')).toBe(0);
});

test('a request that the API server refuses is retried with backoff, and a lost response creates another one', async () => {
  const world = await start();
  const filter = { verb: 'create', resource: 'podcertificaterequests' } as const;
  world.api.faults.fail(filter, { code: 403, times: 3 });
  world.api.faults.fail(filter, { code: 500, when: 'after' });
  run(world);
  await world.advance(5_000);
  expect(world.phase('web')).toBe('Running');
  // The first was created without the kubelet knowing; its owner is the pod, so it is removed with it.
  expect(requests(world)).toHaveLength(2);
});

test('an unknown key type keeps its own pod waiting, with a reason', async () => {
  const world = await start();
  const odd = run(world, { keyType: 'unknown' }, { name: 'odd' });
  run(world);
  await world.advance(10 * minuteMs);
  expect([world.phase('odd'), world.phase('web')]).toEqual(['Pending', 'Running']);
  expect(world.node.explanation(odd.metadata?.uid ?? '')).toContain(
    'certificate of volume tls could not be requested: while generating keypair: unknown key type "unknown"',
  );
  expect(world.node.logged('Failed to request a pod certificate').length).toBeLessThan(30);
  expect(requests(world)).toHaveLength(1);
});

test('a chain that is larger than the API server allows fails the request', async () => {
  const world = await start();
  world.signer.decision = 'wait';
  run(world);
  await world.advance(2_000);
  const type = resourceOf('podcertificaterequests');
  const stored = world.api.store.list(type)[0];
  if (stored === undefined) throw new Error('no request');
  const condition = { type: 'Issued', status: 'True', reason: 'Issued', message: '', lastTransitionTime: '' };
  const certificateChain = '-----BEGIN CERTIFICATE-----\n'.repeat(40_000);
  world.api.store.put(type, { ...stored, status: { certificateChain, conditions: [condition] } });
  await world.advance(5_000);
  expect(events(world, 'Failed')).toEqual([
    expect.stringContaining('reason="InvalidCertificate", message="the certificate chain has 1120000 bytes'),
  ]);
  expect(world.phase('web')).toBe('Pending');
});

test('a pod that is gone or has ended gets no more certificates', async () => {
  const world = await start({ seconds: 3600 });
  run(world);
  run(world, {}, { name: 'job', restartPolicy: 'Never', command: ['sh', '-c', 'sleep 10'] });
  await world.advance(2_000);
  expect(requests(world)).toHaveLength(2);
  world.delete('web', 1);
  await world.advance(30_000);
  expect([world.pod('web'), world.phase('job')]).toEqual([undefined, 'Succeeded']);
  expect(await states(world)).toEqual([]);
  await world.advance(60 * minuteMs);
  expect(requests(world)).toHaveLength(2);
});

test('a node whose pods need no certificates does not watch requests', async () => {
  const world = await start();
  world.run('plain');
  await world.advance(5_000);
  expect(world.phase('plain')).toBe('Running');
  expect(world.api.requestLines().filter((line) => line.includes('podcertificaterequests'))).toEqual([]);
});

test('without the feature gate the pod waits, and nothing is requested', async () => {
  const world = await start({}, { gates: { PodCertificateRequest: false } });
  run(world);
  await world.advance(5_000);
  expect(world.phase('web')).toBe('Pending');
  expect(failedMounts(world)).toEqual(['MountVolume.SetUp failed for volume "tls" : unimplemented']);
  expect(requests(world)).toEqual([]);
});
