// Against the API server double, as a node: which certificates a pod gets, and what is requested.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ApiServerDouble, nodeUser } from '../../test/api-server/double.ts';
import { memoryClient } from '../../test/api-server/memory-client.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { TrustBundleChoice } from '../api/ports/pod-objects.ts';
import { describeError, KubeletError } from '../base/errors.ts';
import { TrustBundles } from './trust-bundles.ts';

const signal = new AbortController().signal;
const pem = (text: string): string =>
  `-----BEGIN CERTIFICATE-----\n${Buffer.from(text).toString('base64')}\n-----END CERTIFICATE-----\n`;

describe('trust bundles', () => {
  let clock: FakeClock;
  let double: ApiServerDouble;
  let changes: string[];
  let stop: AbortController;
  let stopped: Promise<void>;

  beforeEach(() => {
    clock = new FakeClock();
    double = new ApiServerDouble({ clock, schedule: false, automount: false });
    double.objects.create('nodes', { metadata: { name: 'n1' } });
    changes = [];
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await stopped;
    double.close();
    expect(double.watches.size).toBe(0);
    expect(clock.pendingTimers()).toBe(0);
  });

  function open(enabled = true): TrustBundles {
    const { client, follow } = memoryClient(double, clock, nodeUser('n1'));
    const announce = ({ kind, name }: { kind: string; name: string }): void =>
      void changes.push(`${kind} ${name}`);
    const bundles = new TrustBundles({ client, follow, enabled, announce, random: () => 0.5, clock });
    stopped = bundles.run(stop.signal);
    return bundles;
  }

  function put(
    name: string,
    trustBundle: string,
    signerName?: string,
    labels?: Record<string, string>,
  ): void {
    const spec = { trustBundle, ...(signerName === undefined ? {} : { signerName }) };
    const existing = double.objects.get('clustertrustbundles', '', name);
    if (existing === undefined)
      double.objects.create('clustertrustbundles', {
        metadata: { name, ...(labels === undefined ? {} : { labels }) },
        spec,
      });
    else double.objects.update('clustertrustbundles', { ...existing, spec });
  }

  const read = async (bundles: TrustBundles, choice: TrustBundleChoice): Promise<string> =>
    await clock.until(bundles.anchors(choice, signal).catch((err: unknown) => describeError(err)));

  const signer = 'example.com/s';
  const manyValues = Array.from({ length: 2_000 }, (_, index) => `v${index}`.padEnd(63, 'x'));
  const cases: readonly (readonly [string, TrustBundleChoice, string])[] = [
    ['by name', { name: 'one', optional: false }, pem('a')],
    [
      'an oversized selector',
      {
        signerName: signer,
        labelSelector: { matchExpressions: [{ key: 'l', operator: 'In', values: manyValues }] },
        optional: true,
      },
      'label selector length (128006) is larger than 102400',
    ],
    [
      'by signer and labels',
      { signerName: signer, labelSelector: { matchLabels: { l: 'x' } }, optional: false },
      pem('b'),
    ],
    [
      'an absent selector selects nothing',
      { signerName: signer, labelSelector: undefined, optional: true },
      '',
    ],
    [
      'a missing name',
      { name: 'none', optional: false },
      'while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "none" not found',
    ],
    ['a missing name, optional', { name: 'none', optional: true }, ''],
    [
      'a missing signer',
      { signerName: 'other.com/s', labelSelector: {}, optional: false },
      'combination of signerName and labelSelector matched zero ClusterTrustBundles',
    ],
  ];
  for (const [name, choice, want] of cases)
    test(name, async () => {
      put('one', pem('a'));
      put('example.com:s:1', pem('b'), signer, { l: 'x' });
      put('example.com:s:2', pem('c'), signer, { l: 'y' });
      expect(await read(open(), choice)).toBe(want);
    });

  test('selects all bundles of a signer by an empty selector, each certificate once', async () => {
    put('example.com:s:1', pem('b'), signer);
    put('example.com:s:2', pem('b') + pem('c'), signer);
    const given = await read(open(), { signerName: signer, labelSelector: {}, optional: false });
    expect(given.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
  });

  test('watches from the first use on, and announces changes by name and by signer', async () => {
    const bundles = open();
    put('one', pem('a'));
    await clock.settle();
    expect(double.watches.size).toBe(0);
    expect(await read(bundles, { name: 'one', optional: false })).toBe(pem('a'));
    expect(double.watches.size).toBe(1);
    changes.length = 0;
    put('one', pem('d'));
    put('example.com:s:1', pem('e'), signer);
    double.objects.delete('clustertrustbundles', '', 'one', {});
    await clock.settle();
    expect(changes).toEqual([
      'ClusterTrustBundle one',
      'ClusterTrustBundle example.com:s:1',
      `TrustBundleSigner ${signer}`,
      'ClusterTrustBundle one',
    ]);
    expect(await read(bundles, { name: 'one', optional: true })).toBe('');
  });

  test.each([
    [['v1', 'v1beta1', 'v1alpha1'], 'v1'],
    [['v1beta1', 'v1alpha1'], 'v1beta1'],
    [['v1alpha1'], 'v1alpha1'],
  ])('follows the newest version that the server has of %j', async (served, want) => {
    const followed: string[] = [];
    const bundles = new TrustBundles({
      client: {
        get: async (path: string) => {
          if (!served.includes(path.slice(path.lastIndexOf('/') + 1)))
            throw new KubeletError('not-found', 'NotFound', path);
          return { resources: [{ name: 'clustertrustbundles' }] } as never;
        },
      },
      follow: async ({ path }, sink) => {
        followed.push(path);
        sink.replace([]);
      },
      enabled: true,
      announce: () => undefined,
      random: () => 0.5,
      clock,
    });
    stopped = bundles.run(stop.signal);
    expect(await read(bundles, { name: 'one', optional: true })).toBe('');
    expect(followed).toEqual([`/apis/certificates.k8s.io/${want}/clustertrustbundles`]);
  });

  test('fails with upstream’s message with the gate off', async () => {
    expect(await read(open(false), { name: 'one', optional: true })).toBe(
      'ClusterTrustBundle projection is not supported in static kubelet mode',
    );
  });

  test('retries an unreachable server for the next pod; a caller that aborts does not cancel it for others', async () => {
    const bundles = open();
    put('one', pem('a'));
    double.faults.goDown();
    const impatient = new AbortController();
    const given = bundles.anchors({ name: 'one', optional: false }, impatient.signal).catch(String);
    const other = bundles
      .anchors({ name: 'one', optional: false }, signal)
      .catch((err: unknown) => describeError(err));
    impatient.abort(new Error('enough'));
    expect(await given).toContain('enough');
    expect(await clock.until(other)).toContain('failed to determine which informer manager to choose');
    double.faults.comeUp();
    expect(await read(bundles, { name: 'one', optional: false })).toBe(pem('a'));
  });
});
