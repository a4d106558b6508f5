// The loop on its own: what one pod's request may not do to other pods, and what is left of a pod that is gone.
import { expect, onTestFinished, test } from 'vitest';
import { aPod } from '../../test/builders/builders.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Pod } from '../api/k8s/types.ts';
import { asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { silentLogger } from '../base/log/log.ts';
import { Secret } from '../base/log/secret.ts';
import type { PendingRequest } from './credential-state.ts';
import { NodeRequests } from './node-requests.ts';
import { PodCertificateManager } from './pod-certificates.ts';
import { PodCredentials } from './pod-credentials.ts';
import type { Projection } from './projections.ts';

async function started(create: (projection: Projection, signal: AbortSignal) => Promise<PendingRequest>) {
  const clock = new FakeClock();
  const pods = new Map<PodUid, Pod>();
  const changed = new Channel<PodUid>();
  const credentials = new PodCredentials();
  const requests = new NodeRequests({ credentials });
  const targets: unknown[] = [];
  const manager = new PodCertificateManager({
    pods: {
      desired: { get: (uid) => (pods.has(uid) ? { pod: pods.get(uid) as Pod } : undefined), changed },
      lifecycles: { get: () => undefined, changed: new Channel<PodUid>() },
    },
    credentials,
    requests,
    watch: {
      nodeName: 'n',
      follow: (target, _sink, signal) => {
        targets.push(target);
        return untilAborted(signal);
      },
    },
    creator: { create },
    events: { pod: () => undefined, node: () => undefined },
    time: { clock, random: () => 0 },
    log: silentLogger,
  });
  const stop = new AbortController();
  const { stopped } = await startComponent(manager, stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await stopped;
    expect(clock.pendingTimers()).toBe(0);
  });
  const put = (name: string, keyType = 'ED25519'): PodUid => {
    const source = { podCertificate: { signerName: 'a.b/c', keyType } };
    const uid = asPodUid(`uid-${name}`);
    pods.set(uid, aPod({ name, uid, volumes: [{ name: 'v', projected: { sources: [source] } }] }));
    changed.push(uid);
    return uid;
  };
  const remove = (uid: PodUid): void => {
    pods.delete(uid);
    changed.push(uid);
  };
  return { clock, credentials, manager, put, remove, requests, targets };
}

const pendingRequest = (name: string): PendingRequest => ({
  key: new Secret('key'),
  namespace: 'default',
  name,
  uid: `uid of ${name}`,
  createdAtMs: 0,
  abandonAtMs: Number.MAX_SAFE_INTEGER,
});

test('requests that hang, as a hundred RSA keys, delay only their own pods', async () => {
  const { clock, credentials, put } = await started(({ pod, source }, signal) =>
    source.keyType === 'RSA4096'
      ? untilAborted(signal).then(() => Promise.reject(signal.reason))
      : Promise.resolve(pendingRequest(pod.metadata?.name ?? '')),
  );
  for (let index = 0; index < 100; index++) put(`slow-${index}`, 'RSA4096');
  put('quick');
  await clock.settle();
  expect(credentials.get('uid-quick/v/0')?.is).toBe('waiting');
  expect(credentials.get('uid-slow-99/v/0')?.is).toBe('initial');
});

test('a pod that is removed while its request is created has no credentials afterwards', async () => {
  const answers: ((pending: PendingRequest) => void)[] = [];
  const signals: AbortSignal[] = [];
  const { clock, credentials, put, remove } = await started((_, signal) => {
    signals.push(signal);
    return new Promise((resolve) => answers.push(resolve));
  });
  const uid = put('p');
  await clock.settle();
  remove(uid);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  for (const answer of answers) answer(pendingRequest('req-1'));
  await clock.settle();
  expect(credentials.ofPod(uid).size).toBe(0);
});

test('the watch selects the requests of this node, begins once, and keeps only those of pods that wait', async () => {
  const { clock, put, remove, requests, targets } = await started(({ pod }) =>
    Promise.resolve(pendingRequest(pod.metadata?.name ?? '')),
  );
  expect(targets).toEqual([]);
  const uid = put('p');
  put('q');
  await clock.settle();
  expect(targets).toEqual([
    { path: '/apis/certificates.k8s.io/v1/podcertificaterequests', fieldSelector: 'spec.nodeName=n' },
  ]);
  const request = (name: string, podUID: string) => ({
    metadata: { namespace: 'default', name },
    spec: {
      podUID,
      signerName: '',
      podName: '',
      serviceAccountName: '',
      serviceAccountUID: '',
      nodeName: 'n',
      nodeUID: '',
      stubPKCS10Request: '',
    },
  });
  requests.replace([request('own', uid), request('of-another-process', 'uid-gone')]);
  requests.upsert(request('flood', 'uid-gone'));
  const kept = (): readonly string[] =>
    ['own', 'of-another-process', 'flood'].filter((name) => requests.get('default', name) !== undefined);
  expect(kept()).toEqual(['own']);
  remove(uid);
  expect(kept()).toEqual([]);
});

test('a source whose request fails is retried with backoff, however often its pod changes', async () => {
  let attempts = 0;
  const { clock, manager, put } = await started(() => {
    attempts += 1;
    return Promise.reject(new Error('no'));
  });
  for (let turn = 0; turn < 50; turn++) {
    put('p');
    await clock.settle();
  }
  expect(attempts).toBe(1);
  await clock.advance(600_000);
  expect(attempts).toBeLessThan(22);
  expect(manager.activities(asPodUid('uid-p'))).toEqual([
    { what: 'certificate of volume v could not be requested: no', sinceMs: expect.any(Number) },
  ]);
});
