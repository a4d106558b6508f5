// The idle part of the eviction benchmark: what watching costs a kubelet whose node is short of nothing.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kubelet } from '../integration/rig/kubelet.ts';
import type { Rig } from '../integration/rig/rig.ts';
import type { Cluster } from '../integration/support/cluster.ts';
import type { Pod } from '../src/api/k8s/types.ts';
import { idleShare } from './kubelet-pods.ts';
import { benchPod } from './pods.ts';
import { table } from './statistics.ts';

export interface IdlePlan {
  readonly pods: number;
  readonly rounds: number;
  readonly ms: number;
}

export const benchNode = 'bench';

/** A kubelet that was started just now, with this configuration. */
export async function startBenchKubelet(
  rig: Rig,
  cluster: Cluster,
  config: Readonly<Record<string, unknown>>,
  command?: string,
): Promise<Kubelet> {
  // The API server double reads JSON only; a Go kubelet would send protobuf.
  const peer = command === undefined ? {} : { command };
  const kubelet = await rig.kubelet({
    name: command === undefined ? 'ours' : 'peer',
    nodeName: benchNode,
    flags: [`--kubeconfig=${cluster.kubeconfig}`],
    ...peer,
    config: { contentType: 'application/json', ...config },
  });
  await cluster.untilNodeReady();
  return kubelet;
}

/** With storage limits of both kinds. */
function limitedPod(name: string, image: string): Pod {
  const { metadata, spec } = benchPod(name, image);
  const [container] = spec?.containers ?? [];
  if (container === undefined) throw new Error('no container');
  return {
    metadata: { ...metadata },
    spec: {
      ...spec,
      volumes: [{ name: 'v', emptyDir: { sizeLimit: '64Mi' } }],
      containers: [
        {
          ...container,
          resources: { limits: { 'ephemeral-storage': '64Mi' } },
          volumeMounts: [{ name: 'v', mountPath: '/v' }],
        },
      ],
    },
  };
}

const watching: Readonly<Record<string, unknown>> = {};
const blind = { evictionHard: {}, localStorageCapacityIsolation: false };

/** The pods outlive the kubelets, which are measured in turn, each order as often. */
export async function measureIdle(rig: Rig, cluster: Cluster, plan: IdlePlan): Promise<void> {
  const names = Array.from({ length: plan.pods }, (_, i) => `idle-${i}`);
  for (const name of names) cluster.createPod(limitedPod(name, rig.images.busybox));
  const shares = new Map([watching, blind].map((config) => [config, [] as number[]]));
  for (let round = 0; round < plan.rounds; round++)
    for (const config of round % 2 === 0 ? [blind, watching] : [watching, blind]) {
      const kubelet = await startBenchKubelet(rig, cluster, config);
      for (const name of names) await cluster.untilReady(name);
      await sleep(plan.ms / 4);
      shares.get(config)?.push(await idleShare(kubelet, plan.ms));
      await kubelet.stop();
    }
  const percent = (share: number): string => `${(share * 100).toFixed(2)} %`;
  const off = shares.get(blind) ?? [];
  const on = shares.get(watching) ?? [];
  const mean = (of: readonly number[]): number => of.reduce((sum, one) => sum + one, 0) / of.length;
  const row = (name: string, of: readonly number[]) => [name, percent(mean(of)), of.map(percent).join(', ')];
  console.log(
    table([
      [`CPU when idle, ${names.length} pods, ${plan.ms / 1000} s, of one core`, 'mean', 'rounds'],
      row('no thresholds, no storage limits', off),
      row('default thresholds, storage limits', on),
      ['difference', percent(mean(on) - mean(off)), 'target 0.10 %'],
    ]),
  );
}
