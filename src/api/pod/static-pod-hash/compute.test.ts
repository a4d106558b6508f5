// The UIDs in golden/ were computed by upstream's code of each release, v1.31.14 to v1.37.0-rc.1 (decoder, defaults, conversion,
// DeepHashObject), built with Go 1.26 for 64-bit Linux, with default gates, on a machine in UTC.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Pod } from '../../k8s/types.ts';
import { dumpPod, staticPodHashes, staticPodUid } from './compute.ts';

interface Golden {
  readonly name: string;
  /** By release. */
  readonly uids: Readonly<Record<string, string>>;
  readonly nodeName: string;
  readonly source: string;
  readonly isFile: boolean;
  /** After defaulting. */
  readonly pod: Pod;
  /** Before defaulting, where needed. */
  readonly written?: Pod;
}

const files = ['kubeadm', 'containers', 'probes', 'security', 'volumes', 'placement', 'quantities', 'edges'];
const goldens = files.flatMap((file) => {
  const text = readFileSync(new URL(`golden/${file}.json`, import.meta.url), 'utf8');
  // The rows contain nulls and numbers, as manifests do; the API's types do not allow them.
  return (JSON.parse(text) as readonly Golden[]).map((row) => ({ ...row, name: `${file}: ${row.name}` }));
});

describe('staticPodUid', () => {
  test.each(goldens)('$name', ({ pod, uids, nodeName, source, isFile, written }) => {
    expect(staticPodUid(pod, { nodeName, source, isFile, written })).toBe(uids['1.37']);
  });

  test.each(goldens)('of earlier releases, $name', ({ pod, uids, nodeName, source, isFile, written }) => {
    const earlier = staticPodHashes.computeEarlierHashes(pod, { nodeName, source, isFile, written });
    const releases = ['1.36', '1.35', '1.34', '1.33', '1.32', '1.31'];
    expect([...earlier]).toEqual(releases.map((release) => uids[release]));
  });

  test.each(goldens)('does not mutate the pod, $name', ({ pod, nodeName, source, isFile, written }) => {
    const before = structuredClone(pod);
    staticPodUid(pod, { nodeName, source, isFile, written });
    expect(pod).toEqual(before);
  });

  const pod: Pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c' }] } };
  const from = { nodeName: 'n', source: '/a', isFile: true };

  test('depends on name, source and, for files, on the node', () => {
    const uids = [
      staticPodUid(pod, from),
      staticPodUid({ ...pod, metadata: { name: 'q' } }, from),
      staticPodUid(pod, { ...from, nodeName: 'm' }),
      staticPodUid(pod, { ...from, source: '/b' }),
      staticPodUid(pod, { ...from, isFile: false }),
    ];
    expect(new Set(uids).size).toBe(uids.length);
    expect(staticPodUid(pod, { nodeName: 'm', source: '/a', isFile: false })).toBe(uids[4]);
  });

  test('ignores the order of keys but not of lists', () => {
    const spec = (args: string[]) => ({ containers: [{ args, name: 'c' }] });
    const labels = { a: '1', b: '2' };
    const swapped = { b: '2', a: '1' };
    const uid = staticPodUid({ metadata: { name: 'p', labels }, spec: spec(['x', 'y']) }, from);
    expect(staticPodUid({ spec: spec(['x', 'y']), metadata: { labels: swapped, name: 'p' } }, from)).toBe(
      uid,
    );
    expect(staticPodUid({ metadata: { name: 'p', labels }, spec: spec(['y', 'x']) }, from)).not.toBe(uid);
  });

  test('rejects a malformed quantity', () => {
    const spec = { containers: [{ name: 'c', resources: { limits: { cpu: 'many' } } }] };
    expect(() => staticPodUid({ metadata: { name: 'p' }, spec }, from)).toThrow(/many/);
  });
});

describe('dumpPod', () => {
  const least = goldens.find(({ name }) => name === 'containers: the least there is');
  const text = dumpPod(least?.pod ?? {});

  test('prints every field with its type, set or not', () => {
    expect(text).toMatch(
      /^\(\*core\.Pod\)\{TypeMeta:\(v1\.TypeMeta\)\{Kind:\(string\) APIVersion:\(string\)\} ObjectMeta:\(v1\.ObjectMeta\)\{Name:\(string\)min /,
    );
    expect(text).toContain(
      'Resources:(core.ResourceRequirements){Limits:(core.ResourceList)<nil> Requests:(core.ResourceList)<nil> Claims:([]core.ResourceClaim)<nil>}',
    );
    expect(text).toContain(
      'RestartPolicy:(core.RestartPolicy)Always TerminationGracePeriodSeconds:(*int64)30 ',
    );
    expect(text).toContain(
      'CreationTimestamp:(v1.Time){Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}',
    );
  });

  test('prints host namespaces beside the security context', () => {
    const pod: Pod = { spec: { containers: [], hostNetwork: true, securityContext: { runAsUser: 0 } } };
    expect(dumpPod(pod)).toContain(
      'HostNetwork:(bool)true HostPID:(bool)false HostIPC:(bool)false ShareProcessNamespace:(*bool)<nil> SecurityContext:(*core.PodSecurityContext){SELinuxOptions:',
    );
  });
});
