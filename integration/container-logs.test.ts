// `kubectl logs` end to end: kubectl, the API server double, the secure port of the built command, files of containerd.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, renameSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Pod } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import type { Rig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { type Cluster, kubectlUnavailableReason } from './support/cluster.ts';
import { logPath } from './support/container-log.ts';
import { container, exitsOnTerm, type ManifestOver, manifest } from './support/manifest.ts';
import { useClusterNode } from './support/suite-node.ts';

/** Prints three lines, then waits for SIGTERM and prints another one. */
const speaker = `trap 'echo goodbye; exit 0' TERM; echo one; echo two >&2; echo three; ${exitsOnTerm.slice(exitsOnTerm.indexOf('while'))}`;
const longLine = 40_000;

describeOnRig('container logs', () => {
  let rig: Rig;
  let cluster: Cluster;
  let kubelet: Kubelet;
  const followers: ChildProcess[] = [];

  const run = (name: string, over: ManifestOver): Pod => cluster.createPod(manifest(name, over));
  const logs = (...args: readonly string[]): Promise<string> => cluster.kubectl('logs', ...args);
  const rejection = (...args: readonly string[]): Promise<string> =>
    logs(...args).then(
      (text) => `not rejected: ${text}`,
      (err: Error & { readonly stderr?: string }) => err.stderr ?? err.message,
    );
  const untilLogged = (
    what: string,
    is: (text: string) => boolean,
    ...args: readonly string[]
  ): Promise<string> =>
    waitFor(
      async () => {
        const text = await logs(...args);
        return is(text) && text;
      },
      what,
      { timeoutMs: 60_000, everyMs: 200 },
    );
  const follow = (...args: readonly string[]) => {
    const child = cluster.startKubectl('logs', '-f', ...args);
    followers.push(child);
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    const ended = once(child, 'close');
    return {
      ended: async (): Promise<string> => {
        await ended;
        return text;
      },
      until: (part: string): Promise<boolean> =>
        waitFor(
          () => text.includes(part),
          `"${part}" from a follower that has ${JSON.stringify(text)}`,
          60_000,
        ),
      text: (): string => text,
      stop: async (): Promise<void> => {
        child.kill();
        await ended;
      },
    };
  };

  useClusterNode((node) => ({ rig, cluster, kubelet } = node));

  beforeAll(async () => {
    run('speaker', { containers: [container('main', speaker)] });
    run('crasher', { containers: [container('main', 'echo attempt; exit 1')] });
    run('stages', {
      initContainers: [container('first', 'echo from init')],
      containers: [
        container('a', `echo from a; ${exitsOnTerm}`),
        container('b', `echo from b; ${exitsOnTerm}`),
      ],
    });
    run('nowhere', { containers: [container('main', 'true', { image: 'registry.invalid/none:1' })] });
    const long = `head -c ${longLine} /dev/zero | tr '\\0' x; echo; printf '\\001\\377 binary\\n'; printf unfinished; ${exitsOnTerm}`;
    run('long', { containers: [container('main', long)] });
    const thirty = 'i=0; while [ $i -lt 30 ]; do i=$((i+1)); echo line $i; sleep 0.1; done';
    run('counter', { restartPolicy: 'Never', containers: [container('main', thirty)] });
  });
  afterAll(async () => {
    for (const child of followers) child.kill();
  });

  describe.skipIf(kubectlUnavailableReason !== undefined)(
    `kubectl${kubectlUnavailableReason === undefined ? '' : `: ${kubectlUnavailableReason}`}`,
    () => {
      test('following a container that exits returns the whole log and ends', async () => {
        await cluster.untilPod(
          'counter',
          'to run',
          ({ phase }) => phase === 'Running' || phase === 'Succeeded',
        );
        const all = Array.from({ length: 30 }, (_, index) => `line ${index + 1}\n`).join('');
        expect(await follow('counter').ended()).toBe(all);
        await cluster.untilPod('counter', 'to end', ({ phase }) => phase === 'Succeeded');
        expect(await logs('counter', '--tail=2')).toBe('line 29\nline 30\n');
      });

      test('returns the whole log, its tail, since a time, with timestamps, limited', async () => {
        await cluster.untilReady('speaker');
        const three = (text: string): boolean => text.split('\n').length === 4;
        const text = await untilLogged('three lines', three, 'speaker');
        expect(text.split('\n').toSorted()).toEqual(['', 'one', 'three', 'two']);
        const stamped = (await logs('speaker', '--timestamps')).trimEnd().split('\n');
        for (const line of stamped)
          expect(line).toMatch(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{9}\S+ (one|two|three)$/);
        expect(await logs('speaker', '--tail=1')).toBe(`${stamped[2]?.split(' ')[1]}\n`);
        expect(await logs('speaker', '--tail=0')).toBe('');
        expect(await logs('speaker', '--limit-bytes=5')).toBe(text.slice(0, 5));
        expect(await logs('speaker', '--since=1h')).toBe(text);
        expect(await logs('speaker', '--since-time=2020-01-01T00:00:00Z')).toBe(text);
        expect(await logs('speaker', '--since-time=2100-01-01T00:00:00Z')).toBe('');
      });

      test('returns the logs of one container, or of all containers of a pod', async () => {
        await cluster.untilReady('stages');
        expect(await logs('stages', '-c', 'first')).toBe('from init\n');
        expect(await untilLogged('b', (text) => text !== '', 'stages', '-c', 'b')).toBe('from b\n');
        const all = await untilLogged(
          'a',
          (text) => text.includes('from a'),
          'stages',
          '--all-containers',
          '--prefix',
        );
        expect(all.trimEnd().split('\n').toSorted()).toEqual([
          '[pod/stages/a] from a',
          '[pod/stages/b] from b',
          '[pod/stages/first] from init',
        ]);
      });

      test('returns the previous container’s log, or the reason why there is none', async () => {
        await cluster.untilPod(
          'crasher',
          'to be restarted',
          ({ containerStatuses }) => (containerStatuses?.[0]?.restartCount ?? 0) > 0,
        );
        expect(await logs('crasher', '--previous')).toBe('attempt\n');
        expect(await rejection('speaker', '--previous')).toContain(
          'previous terminated container "main" in pod "speaker" not found',
        );
        await cluster.untilPod('nowhere', 'to fail to pull', ({ containerStatuses }) =>
          /ErrImagePull|ImagePullBackOff/.test(containerStatuses?.[0]?.state?.waiting?.reason ?? ''),
        );
        expect(await rejection('nowhere')).toMatch(
          /container "main" in pod "nowhere" is waiting to start: (image can't be pulled|trying and failing to pull image)/,
        );
        expect(await rejection('speaker', '-c', 'none')).toContain(
          'container none is not valid for pod speaker',
        );
      });

      test('joins partial lines of the runtime, and preserves bytes', async () => {
        await cluster.untilReady('long');
        const text = await untilLogged('the binary line', (got) => got.includes('binary'), 'long');
        const [long, binary] = text.split('\n');
        expect(long).toBe('x'.repeat(longLine));
        expect(binary).toBe('\u0001\ufffd binary');
        expect((await logs('long', '--tail=2')).length).toBeGreaterThan(longLine);
      });

      test('following continues over a rotation, up to the final output', async () => {
        const pod = await cluster.untilReady('speaker');
        const follower = follow('speaker');
        await follower.until('three');
        const path = logPath(kubelet, pod);
        renameSync(path, `${path}.20240101-000000`);
        const containerId = idOf(pod);
        await rig.cri.reopenContainerLog({ containerId });
        await waitFor(() => readdirSync(path.slice(0, path.lastIndexOf('/'))).length === 2, 'a new log file');
        // The new file is empty; the tail comes from the rotated one.
        expect((await logs('speaker', '--tail=2')).split('\n')).toHaveLength(3);
        await cluster.kubectl('delete', 'pod', 'speaker', '--wait=false');
        const text = await follower.ended();
        expect(text.split('\n').toSorted()).toEqual(['', 'goodbye', 'one', 'three', 'two']);
        await cluster.untilGone('speaker');
      });

      test('returns the log of a static pod by the name of its mirror pod', async () => {
        kubelet.writeManifest(
          'fixed',
          manifest('fixed', { containers: [container('main', `echo fixed; ${exitsOnTerm}`)] }),
        );
        await cluster.untilReady('fixed-node1');
        expect(await untilLogged('its line', (text) => text !== '', 'fixed-node1')).toBe('fixed\n');
      });

      test('followers end when the kubelet stops', async () => {
        const follower = follow('stages', '-c', 'a');
        await follower.until('from a');
        await kubelet.stop();
        await follower.ended();
      });
    },
  );
});

function idOf(pod: Pod): string {
  return (pod.status?.containerStatuses?.[0]?.containerID ?? '').replace(/^.*:\/\//, '');
}
