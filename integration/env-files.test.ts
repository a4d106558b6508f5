// Environment variables from files that the pod's own containers write (fileKeyRef), on real volumes: an init container
// writes, another reads; hostile files keep only their own container from starting.
import { expect, test } from 'vitest';
import type { EnvVar, Pod } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { waitFor } from './rig/wait.ts';
import { logLines } from './support/container-log.ts';
import { container, exitsOnTerm, manifest } from './support/manifest.ts';
import { containerStatus, untilContainer, untilRunning } from './support/pod-state.ts';
import { useNode } from './support/suite-node.ts';

const mounted = { volumeMounts: [{ name: 'e', mountPath: '/e' }] };
const from = (name: string, key: string, more: object = {}): EnvVar => ({
  name,
  valueFrom: { fileKeyRef: { volumeName: 'e', path: 'env', key, ...more } },
});

describeOnRig('environment files', () => {
  let kubelet: Kubelet;
  const own = useNode((node) => ({ kubelet } = node));

  const pod = (name: string, writes: string, env: readonly EnvVar[], main = exitsOnTerm): Pod =>
    manifest(name, {
      initContainers: [container('init', writes, mounted)],
      containers: [container('main', main, { env: [...env] })],
      volumes: [{ name: 'e', emptyDir: {} }],
    });
  const untilRefused = async (name: string): Promise<string> => {
    const refused = await untilContainer(
      kubelet,
      name,
      'to be refused',
      ({ state }) => state?.waiting?.reason === 'CreateContainerConfigError',
    );
    return containerStatus(refused).state?.waiting?.message ?? '';
  };

  test('a container gets what an init container of a static pod wrote', async () => {
    const writes = `printf "# c\nA='one two' # x\nB='multi\nline'\n" > /e/env; ln -s env /e/link`;
    const env = [
      from('A', 'A'),
      from('B', 'B'),
      from('L', 'A', { path: '/link' }),
      from('NONE', 'C', { optional: true }),
      from('NO_FILE', 'C', { path: 'absent', optional: true }),
      { name: 'D', value: '$(A)!' },
    ];
    own.write('reads', pod('reads', writes, env, `env; ${exitsOnTerm}`));
    const running = await untilRunning(kubelet, 'reads');
    const lines = await waitFor(() => {
      const printed = logLines(kubelet, running);
      return printed.some((line) => line.startsWith('D=')) && printed;
    }, 'the container to print its environment');
    for (const line of ['A=one two', 'B=multi', 'line', 'L=one two', 'D=one two!'])
      expect(lines).toContain(line);
    expect(lines.filter((line) => line.startsWith('NO'))).toEqual([]);
  });

  test.each([
    ['missing-key', 'echo "A=\'x\'" > /e/env', /^environment variable key "K" not found in file ".*\/env"$/],
    ['missing-file', 'true', /^couldn't parse env file$/],
    ['wrong-syntax', 'echo K=x > /e/env', /^couldn't parse env file$/],
    ['a-fifo', 'mkfifo /e/env', /^couldn't parse env file$/],
    ['a-link-outside', 'ln -s ../../../../../../../../etc/passwd /e/env', /^couldn't parse env file$/],
    [
      'a-huge-file',
      'dd if=/dev/zero of=/e/env bs=1 count=1 seek=100G 2>/dev/null',
      /^couldn't parse env file$/,
    ],
    ['a-directory', 'mkdir /e/env', /^couldn't parse env file$/],
  ])('%s keeps the container from starting', async (name, writes, message) => {
    own.write(name, pod(name, writes, [from('K', 'K')]));
    expect(await untilRefused(name)).toMatch(message);
  });

  test('a file that is swapped all the time never shows the host', async () => {
    const swaps =
      'echo "K=\'mine\'" > /e/good; ln -s ../../../../../../../../etc/hostname /e/evil; while :; do ln -sf good /e/t; mv -T /e/t /e/env; ln -sf evil /e/t; mv -T /e/t /e/env; done';
    const swapper = { ...container('swapper', swaps, mounted), restartPolicy: 'Always' };
    const reader = container('main', 'echo K=$K; test "$K" = mine', { env: [from('K', 'K')] });
    own.write('swapped', {
      ...manifest('swapped', {
        restartPolicy: 'OnFailure',
        initContainers: [swapper],
        containers: [reader],
        volumes: [{ name: 'e', emptyDir: {} }],
      }),
    });
    const done = await untilContainer(
      kubelet,
      'swapped',
      'to end',
      ({ state }) => state?.terminated !== undefined,
    );
    expect([containerStatus(done).state?.terminated?.exitCode, containerStatus(done).restartCount]).toEqual([
      0, 0,
    ]);
  });
});
