// Random sequences of admissions, ends and kills of the kubelet. Invariants: no CPU is given twice, none is lost, reserved CPUs are
// never exclusive, and what was saved is what the next start has.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import { CpuManagerRig } from '../../../test/builders/cpu-manager-rig.ts';
import { effort } from '../../../test/effort.ts';
import type { Container, Pod } from '../../api/k8s/types.ts';
import { initAndRegularContainers } from '../../api/pod/find-container.ts';
import { type PodUid, podUid } from '../../api/pod/pod-ref.ts';
import { CpuSet } from './cpu-set.ts';
import { decodeCpuState } from './cpu-state.ts';

const path = '/root/cpu_manager_state';
const all = CpuSet.parse('0-7');
const reserved = CpuSet.parse('0,4');

const cpus = fc.constantFrom('1', '2', '3', '4', '500m', '2500m');
const podShape = fc.record({
  init: fc.array(cpus, { maxLength: 2 }),
  sidecars: fc.array(cpus, { maxLength: 1 }),
  regular: fc.array(cpus, { minLength: 1, maxLength: 3 }),
});
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('admit' as const), shape: podShape }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('end' as const), at: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('damage' as const) }) },
);

function containerOf(name: string, cpu: string, over: Partial<Container> = {}): Container {
  const list = { cpu, memory: '1Gi' };
  return aContainer({ name, resources: { requests: list, limits: list }, ...over });
}

function podOf(
  uid: string,
  { init, regular, sidecars }: typeof podShape extends fc.Arbitrary<infer S> ? S : never,
): Pod {
  return aPod({
    uid,
    initContainers: [
      ...init.map((cpu, at) => containerOf(`i${at}`, cpu)),
      ...sidecars.map((cpu, at) => containerOf(`s${at}`, cpu, { restartPolicy: 'Always' })),
    ],
    containers: regular.map((cpu, at) => containerOf(`c${at}`, cpu)),
  });
}

/** As the topology manager: all containers, or none. */
function admit({ manager }: CpuManagerRig, pod: Pod): boolean {
  try {
    for (const each of initAndRegularContainers(pod)) {
      manager.containerHints(pod, each);
      manager.allocate(pod, each, { mask: undefined, preferred: true });
    }
    return true;
  } catch {
    manager.release(podUid(pod));
    return false;
  }
}

function ownedBy(
  { manager }: CpuManagerRig,
  pod: Pod,
  includes: (container: Container) => boolean = () => true,
): CpuSet {
  let owned = CpuSet.empty;
  for (const each of initAndRegularContainers(pod).filter(includes))
    owned = owned.union(manager.exclusiveCpus(podUid(pod), each.name) ?? CpuSet.empty);
  return owned;
}

function check(rig: CpuManagerRig, pods: ReadonlyMap<PodUid, Pod>): void {
  let seen = rig.manager.cpusFor('nobody' as PodUid, 'c');
  expect(reserved.isSubsetOf(seen)).toBe(true);
  for (const pod of pods.values()) {
    const owned = ownedBy(rig, pod);
    expect(owned.intersection(seen).isEmpty).toBe(true);
    seen = seen.union(owned);
    let beside = CpuSet.empty;
    for (const each of initAndRegularContainers(pod).filter(({ name }) => !name.startsWith('i'))) {
      const own = ownedBy(rig, pod, ({ name }) => name === each.name);
      expect(own.intersection(beside).isEmpty).toBe(true);
      beside = beside.union(own);
    }
  }
  expect(`${seen}`).toBe(`${all}`);
  expect([...rig.manager.holders()].every((uid) => pods.has(uid))).toBe(true);
}

test('no CPU is given twice or lost, across admissions, ends and restarts', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const rig = new CpuManagerRig();
      const pods = new Map<PodUid, Pod>();
      await rig.start();
      for (const [at, each] of steps.entries()) {
        if (each.do === 'admit') {
          const pod = podOf(`u${at}`, each.shape);
          if (admit(rig, pod)) pods.set(podUid(pod), pod);
        } else if (each.do === 'end') {
          const uid = [...pods.keys()][each.at % Math.max(1, pods.size)];
          if (uid !== undefined) rig.manager.release(uid);
          if (uid !== undefined) pods.delete(uid);
        } else {
          await rig.manager.saved();
          const before = decodeCpuState(rig.files.get(path) ?? '');
          if (each.do === 'damage') rig.files.set(path, '{');
          await rig.restart();
          // The predecessor may lack the last change: those pods are admitted again, and ended ones swept, as after every restart.
          for (const uid of rig.manager.holders()) if (!pods.has(uid)) rig.manager.release(uid);
          for (const [uid, pod] of pods) if (!admit(rig, pod)) pods.delete(uid);
          await rig.manager.saved();
          if (each.do === 'restart') expect(decodeCpuState(rig.files.get(path) ?? '')).toEqual(before);
        }
        check(rig, pods);
      }
      await rig.stop();
    }),
    { numRuns: effort(60, 500) },
  );
});
