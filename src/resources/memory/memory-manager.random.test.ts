// Random admissions, starts, removals and restarts of the kubelet: nothing leaks, and no account becomes negative.
import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import { aNumaMachine, GiB, MemoryManagerKit } from '../../../test/builders/memory-manager.ts';
import { effort } from '../../../test/effort.ts';
import type { Container, Pod } from '../../api/k8s/types.ts';
import { initAndRegularContainers } from '../../api/pod/find-container.ts';
import { podUid } from '../../api/pod/pod-ref.ts';
import type { MemoryManager } from './memory-manager.ts';
import { decodeMemoryState } from './memory-state.ts';

/** Mulberry32: the same sequence in every run. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

function randomPod(random: (below: number) => number, number: number): Pod {
  const container = (name: string, kind: number): Container => {
    const memory = `${1 + random(kind === 0 ? 12 : 5)}Gi`;
    const huge: Record<string, string> =
      random(3) === 0 ? { 'hugepages-2Mi': `${2 + 2 * random(400)}Mi` } : {};
    const amounts = { cpu: '1', memory, ...huge };
    const policy = kind === 1 ? { restartPolicy: 'Always' } : {};
    return aContainer({ name, resources: { requests: amounts, limits: amounts }, ...policy });
  };
  return aPod({
    name: `p${number}`,
    initContainers: Array.from({ length: random(3) }, (_, at) => container(`i${at}`, 1 + random(2))),
    containers: Array.from({ length: 1 + random(2) }, (_, at) => container(`c${at}`, random(3))),
  });
}

function expectSound(text: string): void {
  const { entries, machineState } = decodeMemoryState(text);
  const blocks = Object.values(entries).flatMap((pod) => Object.values(pod).flat());
  for (const type of ['memory', 'hugepages-2Mi']) {
    const assigned = blocks.filter((block) => block.type === type).reduce((sum, { size }) => sum + size, 0);
    const tables = Object.values(machineState).flatMap(({ memoryMap }) => memoryMap[type] ?? []);
    expect(tables.reduce((sum, { reserved }) => sum + reserved, 0)).toBe(assigned);
    for (const { allocatable, free, reserved } of tables) {
      expect(Math.min(free, reserved)).toBeGreaterThanOrEqual(0);
      expect(free + reserved).toBe(allocatable);
    }
  }
}

for (let seed = 1; seed <= effort(6, 60); seed += 1)
  test(`keeps its accounts over random admissions and restarts, seed ${seed}`, async () => {
    const random = randomFrom(seed);
    const machine = aNumaMachine(
      Array.from({ length: 1 + random(4) }, () => 4 + random(8)),
      1,
    );
    const kit = new MemoryManagerKit();
    let manager = await kit.start({ machine });
    const empty = kit.file;
    const pods = new Map<number, Pod>();
    const admit = (pod: Pod, to: MemoryManager): void => {
      for (const container of initAndRegularContainers(pod)) {
        const hints = to.containerHints(pod, container).get('memory') ?? [];
        to.allocate(pod, container, hints[random(hints.length + 1)] ?? { mask: undefined, preferred: false });
      }
    };
    for (let step = 0; step < 60; step += 1) {
      const chosen = [...pods.keys()][random(pods.size + 1)];
      const pod = pods.get(chosen ?? -1);
      const action = random(6);
      if (pod !== undefined && action < 2) {
        manager.release(podUid(pod));
        pods.delete(chosen ?? -1);
      } else if (pod !== undefined && action === 2) manager.started(pod, 'c0');
      else if (action === 3) {
        await manager.saved();
        const before = kit.file;
        manager = await kit.start({ machine });
        // Every running pod is admitted again, and none is rejected.
        for (const each of pods.values()) admit(each, manager);
        await manager.saved();
        expect(kit.file).toBe(before);
      } else {
        const added = randomPod(random, step);
        try {
          admit(added, manager);
          pods.set(step, added);
        } catch {
          manager.release(podUid(added));
        }
      }
      await manager.saved();
      expectSound(kit.file ?? '');
    }
    expect(kit.events).toEqual([]);
    for (const pod of pods.values()) manager.release(podUid(pod));
    await manager.saved();
    expect(kit.file).toBe(empty);
    expect(manager.allocatable().every(({ size }) => size < 16 * GiB)).toBe(true);
  });
