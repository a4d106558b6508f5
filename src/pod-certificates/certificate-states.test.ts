import { expect, test } from 'vitest';
import { aPod } from '../../test/builders/builders.ts';
import type { Pod } from '../api/k8s/types.ts';
import { Metrics } from '../base/metrics.ts';
import { measureCertificateStates } from './certificate-states.ts';
import type { CredentialState } from './credential-state.ts';
import { projectionsOf } from './projections.ts';

const podWith = (name: string, ...signers: readonly string[]): Pod =>
  aPod({
    name,
    uid: `uid-${name}`,
    volumes: [
      {
        name: 'v',
        projected: {
          sources: [
            { configMap: { name: 'cm' } },
            ...signers.map((signerName) => ({ podCertificate: { signerName, keyType: 'ED25519' } })),
          ],
        },
      },
    ],
  });

test('a source is identified by pod, volume and its index', () => {
  expect(projectionsOf(podWith('p', 'a/1', 'a/2')).map(({ key }) => key)).toEqual(['uid-p/v/1', 'uid-p/v/2']);
});

test('counts the sources by signer and state on each scrape, and those without a state not at all', () => {
  const registry = new Metrics();
  const pods = [podWith('p', 'a/1', 'a/2'), podWith('q', 'a/1', 'a/1'), podWith('new', 'a/1')];
  const waiting: CredentialState = { is: 'initial' };
  const denied: CredentialState = { is: 'denied', reason: '', message: '' };
  const states = new Map<string, CredentialState>([
    ['uid-p/v/1', waiting],
    ['uid-p/v/2', denied],
    ['uid-q/v/1', waiting],
    ['uid-q/v/2', denied],
  ]);
  measureCertificateStates({
    registry,
    desired: { all: () => pods.map((pod) => ({ pod })) },
    credentials: { get: (key) => states.get(key) },
    clock: { now: () => 0 },
  });
  const lines = (): readonly string[] =>
    registry
      .render()
      .split('\n')
      .filter((line) => line.startsWith('kubelet_'));
  expect(lines()).toEqual([
    'kubelet_podcertificate_states{signer_name="a/1",state="not_yet_issued"} 2',
    'kubelet_podcertificate_states{signer_name="a/2",state="denied"} 1',
    'kubelet_podcertificate_states{signer_name="a/1",state="denied"} 1',
  ]);
  pods.splice(0);
  expect(lines()).toEqual([]);
});
