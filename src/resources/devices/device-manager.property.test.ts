// Random pods, plugins that are slow, fail, prefer at random and die, devices that change their health, and kills of the kubelet, in
// any order: no device is in use by two pods, none is lost, and no running pod is rejected.
import { expect, test } from 'vitest';
import { effort } from '../../../test/effort.ts';
import { healthy, unhealthy } from '../../../test/fakes/fake-device-plugins.ts';
import { DeviceWorld, gpu, requesting, wanting } from '../../../test/simulate/device-world.ts';
import type { Pod } from '../../api/k8s/types.ts';
import { ContainerAllocateResponse } from '../../api/kubelet/generated/deviceplugin/v1beta1/api.ts';
import { podUid } from '../../api/pod/pod-ref.ts';

const ids = ['a', 'b', 'c', 'd', 'e', 'f'];

class Scenario {
  readonly world = new DeviceWorld();
  readonly plugin = this.world.plugins.add('a.sock', ...ids.map((id) => healthy(id)));
  readonly violations: string[] = [];
  #state: number;
  #count = 0;

  constructor(seed: number) {
    this.#state = Math.imul(seed, 2_654_435) & 0x7fffffff;
    this.plugin.options = { preStartRequired: true, preferredAllocation: true };
    this.plugin.prefer = async (available) => {
      await this.#pause();
      return [...available, 'x'].toSorted(() => this.random(3) - 1);
    };
    this.plugin.allocate = async (given) => {
      await this.#pause();
      if (this.random(6) === 0) throw new Error('out of order');
      return ContainerAllocateResponse.create({ envs: { DEVICES: given.join(',') } });
    };
    this.plugin.preStart = () => this.#pause();
    this.world.onFile = () => this.#pause();
  }

  /** Below n. */
  random(n: number): number {
    this.#state = (Math.imul(this.#state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (this.#state >>> 8) % n;
  }

  async #pause(): Promise<void> {
    if (this.random(2) === 0) await this.world.clock.sleep(this.random(20));
  }

  /** Admits and starts; not awaited, so that several are in progress. */
  async start(pod: Pod): Promise<void> {
    const { world } = this;
    const wasRunning = world.running.has(`${podUid(pod)} c`);
    const error = await world.admit(pod);
    if (wasRunning && error !== undefined) this.violations.push(`running pod was rejected: ${error}`);
    if (error !== undefined || wasRunning) return;
    for (const { name } of [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])]) {
      if (!world.pods.has(podUid(pod))) return;
      await world.run(pod, name);
      if (name === 'i') world.running.delete(`${podUid(pod)} i`);
      // It may have been removed meanwhile: then its worker stops it.
      if (!world.pods.has(podUid(pod))) world.running.delete(`${podUid(pod)} ${name}`);
    }
  }

  newPod(): Pod {
    this.#count += 1;
    const init = this.random(2) === 0 ? {} : { initContainers: [requesting('i', 1 + this.random(3))] };
    const names = ['c', 'd'].slice(0, 1 + this.random(2));
    const containers = names.map((name) => requesting(name, 1 + this.random(2)));
    return wanting(`p${this.#count}`, 1, { ...init, containers });
  }

  async restart(): Promise<void> {
    const { world } = this;
    await world.boot();
    await world.register('a.sock');
    for (const pod of world.pods.values()) void this.start(pod).catch(() => undefined);
  }

  async act(): Promise<void> {
    const { plugin, world } = this;
    const pods = [...world.pods.values()];
    const action = this.random(20);
    if (action < 5) void this.start(this.newPod()).catch(() => undefined);
    else if (action < 8) {
      const pod = pods[this.random(Math.max(1, pods.length))];
      if (pod !== undefined) world.release(pod);
    } else if (action === 8)
      plugin.send(...ids.map((id) => (this.random(4) === 0 ? unhealthy(id) : healthy(id))));
    else if (action === 9) {
      plugin.die();
      await world.clock.settle();
      if (this.random(4) > 0) await world.register('a.sock');
    } else if (action === 10) await this.restart();
    else await world.clock.advance(this.random(50));
    this.check();
  }

  check(): void {
    const { world } = this;
    const owner = new Map<string, string>();
    const claim = (id: string, uid: string): void => {
      const first = owner.get(id) ?? uid;
      if (first !== uid) this.violations.push(`${id} is used by ${first} and ${uid}`);
      owner.set(id, uid);
    };
    for (const [key, annotations] of world.running) {
      const text = annotations['io.kubernetes.container.devices'] ?? '{}';
      const used = (JSON.parse(text) as Record<string, readonly string[]>)[gpu] ?? [];
      for (const id of used) claim(id, key.split(' ')[0] ?? '');
    }
    for (const uid of world.manager.holders()) {
      for (const name of ['i', 'c', 'd'])
        for (const { id } of world.manager.devicesOf(uid, name)) claim(id, uid);
      const [first, second] = ['c', 'd'].map((name) => world.manager.devicesOf(uid, name));
      const shared = first?.find(({ id }) => second?.some((each) => each.id === id));
      if (shared !== undefined) this.violations.push(`both containers of ${uid} have ${shared.id}`);
    }
  }
}

for (let seed = 1; seed <= effort(20, 200); seed += 1)
  test(`no device is given twice or lost, whatever happens (seed ${seed})`, async () => {
    const scenario = new Scenario(seed);
    const { plugin, world } = scenario;
    await scenario.restart();
    for (let turn = 0; turn < 120; turn += 1) await scenario.act();
    await world.clock.advance(130_000);
    scenario.check();
    expect(scenario.violations).toEqual([]);
    for (const uid of world.manager.holders()) world.manager.release(uid);
    plugin.allocate = async () => ContainerAllocateResponse.create();
    plugin.send(...ids.map((id) => healthy(id)));
    await world.register('a.sock');
    await world.clock.advance(1_000);
    expect(await world.clock.until(world.admit(wanting('all', ids.length)))).toBeUndefined();
    await world.stop();
  });
