// A node that is cut off from its API server and reboots, with --autonomy, on a real containerd: its pods run again from what it kept,
// except one whose record is torn, no secret is on disk in clear, and the return of the API server restarts nothing.
import { readdirSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { ContainerState } from '../src/api/cri/generated/runtime/v1/api.ts';
import type { Pod } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { mountsBelow, unmountBelow } from './rig/mounts.ts';
import { describeOnRig } from './rig/on-rig.ts';
import type { Rig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import type { Cluster } from './support/cluster.ts';
import { container, exitsOnTerm, manifest } from './support/manifest.ts';
import { endAllContainers } from './support/reboot.ts';
import { useClusterNode } from './support/suite-node.ts';

const secretValue = 'autonomy-canary-4f1d9a';
const tokenPath = '/var/run/secrets/kubernetes.io/serviceaccount/token';
/** From the start of the kubelet on a runtime that is ready; far more than the target of ten seconds, for a busy machine. */
const startDeadlineMs = 60_000;

describeOnRig('autonomy', () => {
  let rig: Rig;
  let cluster: Cluster;
  let kubelet: Kubelet;

  useClusterNode(
    (node) => ({ rig, cluster, kubelet } = node),
    ({ kubeconfig }) => ({ flags: [`--kubeconfig=${kubeconfig}`, '--autonomy=WithSecrets'] }),
  );

  const directory = (): string => join(kubelet.rootDir, 'autonomy');

  const filesBelow = (): readonly string[] =>
    readdirSync(directory(), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));

  /** The secure port authorizes no client while the API server cannot be reached. */
  const metrics = async (): Promise<string> =>
    await (await kubelet.get(kubelet.readOnlyPort, '/metrics')).text();

  const recordOf = ({ metadata }: Pod): string => {
    const uid = `"key":${JSON.stringify(metadata?.uid)}`;
    const path = filesBelow().find((each) => readFileSync(each, 'utf8').split('\n')[0]?.includes(uid));
    if (path === undefined) throw new Error(`no record of pod ${metadata?.name}`);
    return path;
  };

  const runningIds = async ({ metadata }: Pod): Promise<readonly string[]> => {
    const { containers } = await rig.cri.listContainers({
      filter: {
        state: { state: ContainerState.CONTAINER_RUNNING },
        labelSelector: { 'io.kubernetes.pod.uid': metadata?.uid ?? '' },
      },
    });
    return containers.map(({ id }) => id);
  };

  const exec = async (containerId: string, script: string): Promise<string> => {
    const { stdout } = await rig.cri.execSync({ containerId, cmd: ['sh', '-c', script], timeout: 20n });
    return new TextDecoder().decode(stdout);
  };

  /** Kills the kubelet and all containers and removes the mounts, while the API server cannot be reached. */
  const powerOff = async (): Promise<void> => {
    cluster.double.faults.goDown();
    await kubelet.kill9();
    await endAllContainers(rig);
    await waitFor(async () => {
      await unmountBelow(kubelet.rootDir);
      return mountsBelow(kubelet.rootDir).length === 0;
    }, `nothing to be mounted below ${kubelet.rootDir}`);
  };

  const createPods = async (): Promise<Readonly<Record<'user' | 'job' | 'gone' | 'torn', Pod>>> => {
    const { objects } = cluster.double;
    objects.create('configmaps', {
      metadata: { name: 'words', namespace: 'default' },
      data: { greeting: 'hello' },
    });
    const data = { word: Buffer.from(secretValue).toString('base64') };
    objects.create('secrets', { metadata: { name: 'hush', namespace: 'default' }, data });
    const uses = {
      env: [{ name: 'WORD', valueFrom: { secretKeyRef: { name: 'hush', key: 'word' } } }],
      volumeMounts: [{ name: 'words', mountPath: '/words' }],
    };
    cluster.createPod(
      manifest('user', {
        containers: [container('main', exitsOnTerm, uses)],
        volumes: [{ name: 'words', configMap: { name: 'words' } }],
      }),
    );
    cluster.createPod(manifest('job', { restartPolicy: 'Never', containers: [container('main', 'exit 0')] }));
    cluster.createPod(manifest('gone'));
    cluster.createPod(manifest('torn'));
    await cluster.untilPod('job', 'to succeed', ({ phase }) => phase === 'Succeeded');
    return {
      user: await cluster.untilReady('user'),
      job: cluster.pod('job') as Pod,
      gone: await cluster.untilReady('gone'),
      torn: await cluster.untilReady('torn'),
    };
  };

  test('a node that reboots while it is cut off runs its pods again, and the return of the API server restarts nothing', async () => {
    const { gone, job, torn, user } = await createPods();
    const [first = ''] = await runningIds(user);
    const token = await exec(first, `cat ${tokenPath}`);
    // Written off the path of pods.
    await waitFor(
      () => filesBelow().filter((path) => path.includes('/tokens/')).length >= 2,
      'the tokens to be kept',
    );
    for (const path of filesBelow()) {
      const text = readFileSync(path, 'utf8');
      for (const clear of [secretValue, Buffer.from(secretValue).toString('base64'), token])
        expect([path, text.includes(clear)]).toEqual([path, false]);
      expect([path, statSync(path).mode & 0o777]).toEqual([path, 0o600]);
    }
    expect(statSync(directory()).mode & 0o777).toBe(0o700);

    await powerOff();
    cluster.double.objects.delete('pods', 'default', 'gone', { gracePeriodSeconds: 0 });
    const record = recordOf(torn);
    truncateSync(record, Math.floor(statSync(record).size / 2));
    const beganMs = performance.now();
    await kubelet.start({ untilReady: false });
    const [again = ''] = await waitFor(
      async () => {
        const ids = await runningIds(user);
        return ids.length === 1 && ids;
      },
      'the pod to run again',
      startDeadlineMs,
    );
    console.info(`pods ran ${Math.round(performance.now() - beganMs)} ms after the start of the kubelet`);
    expect(again).not.toBe(first);
    expect(await exec(again, `cat /words/greeting; echo; echo $WORD; cat ${tokenPath}`)).toBe(
      `hello\n${secretValue}\n${token}`,
    );
    await kubelet.waitUntilReady();
    expect([await runningIds(job), await runningIds(torn)]).toEqual([[], []]);
    expect(filesBelow()).toContain(join(directory(), 'damaged', `pods-${basename(record)}`));
    expect(await metrics()).toMatch(/^kubelet_autonomy_active 1$/m);

    cluster.double.faults.comeUp();
    await waitFor(
      async () => (await runningIds(gone)).length === 0,
      'the deleted pod to end',
      startDeadlineMs,
    );
    await cluster.untilPod('user', 'to be reported', (status) => {
      const [main] = status.containerStatuses ?? [];
      return main?.ready === true && main.restartCount === 1 && main.containerID?.endsWith(again) === true;
    });
    expect(await runningIds(user)).toEqual([again]);
    expect(cluster.pod('job')?.status?.phase).toBe('Succeeded');
    await cluster.untilReady('torn');
    await waitFor(
      () => cluster.double.objects.list('events').some(({ reason }) => reason === 'KeptPodsReplaced'),
      'the event',
    );
    expect(await metrics()).toMatch(/^kubelet_autonomy_active 0$/m);
  });
});
