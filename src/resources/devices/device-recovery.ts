// Restores what containers hold after a restart: from the checkpoint, and from the runtime if the checkpoint is lost or damaged.
// differs from upstream, which then starts with no records and may give devices of running containers to other pods.
// Invariant: a damaged checkpoint is reported by one event, once every pod is known.
import type { PodUid } from '../../api/pod/pod-ref.ts';
import type { EventSink } from '../../api/ports/events.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log/log.ts';
import type { CheckpointFault, LoadedCheckpoint } from '../checkpoint/kept-checkpoint.ts';
import { devicesAnnotation, parseDevicesAnnotation } from './device-annotation.ts';
import { type DeviceCheckpoint, withoutNumaNode } from './device-checkpoint.ts';
import type { DeviceInventory } from './device-inventory.ts';
import type { DeviceRecords } from './device-records.ts';
import type { DeviceWaits } from './device-waits.ts';
import { type HeldDevices, restored } from './held-devices.ts';

/** Between two checks whether every pod is known. */
const recheckMs = 1_000;
/** In the event about a damaged checkpoint. */
const mostNames = 10;

/** A running container as the runtime lists it. */
export interface RunningContainer {
  readonly uid: PodUid;
  readonly container: string;
  readonly annotations: Readonly<Record<string, string>>;
}

interface DeviceRecoveryDeps {
  readonly clock: Pick<Clock, 'sleep'>;
  readonly log: Logger;
  readonly events: Pick<EventSink, 'node'>;
  readonly runningContainers: (signal: AbortSignal) => Promise<readonly RunningContainer[]>;
  readonly held: HeldDevices;
  readonly inventory: DeviceInventory;
  readonly records: DeviceRecords;
  readonly waits: DeviceWaits;
}

export class DeviceRecovery {
  readonly #deps: DeviceRecoveryDeps;

  constructor(deps: DeviceRecoveryDeps) {
    this.#deps = deps;
  }

  async restore({ fault, state }: LoadedCheckpoint<DeviceCheckpoint>, signal: AbortSignal): Promise<void> {
    const { held, inventory, records } = this.#deps;
    for (const entry of state?.entries ?? []) held.put(restored(entry));
    for (const resource of state?.registered.keys() ?? []) inventory.restore(resource);
    const isWhole = state !== undefined && fault === undefined;
    if (!isWhole && !(await this.#recover(signal))) records.markIncomplete();
  }

  /**
   * Adds the devices of running containers from the annotations that the runtime keeps. False if a container may use
   * devices without having the annotation.
   */
  async #recover(signal: AbortSignal): Promise<boolean> {
    const { log, runningContainers } = this.#deps;
    const running = await runningContainers(signal).catch((err: unknown) => {
      log.warn('Failed to list running containers for their devices', { err });
      return undefined;
    });
    const isAnnotated = (running ?? []).map(({ annotations, container, uid }) => {
      const devices = parseDevicesAnnotation(annotations[devicesAnnotation]);
      for (const [resource, ids] of devices ?? []) {
        const key = { uid, container, resource };
        const entry = { podUid: uid, container, resource, response: new Uint8Array() };
        if (this.#deps.held.get(key) === undefined)
          this.#deps.held.put(restored({ ...entry, devices: new Map([[withoutNumaNode, ids]]) }));
        this.#deps.inventory.restore(resource);
      }
      return devices !== undefined;
    });
    return running !== undefined && isAnnotated.every(Boolean);
  }

  /** Once every pod is known: reports a damaged checkpoint, by one event that also names the pods with unknown devices. */
  async settle(fault: CheckpointFault | undefined, signal: AbortSignal): Promise<void> {
    const { clock, events, log, records, waits } = this.#deps;
    if (fault !== undefined) log.error('Checkpoint of the device manager is damaged', { ...fault });
    if (fault === undefined && records.isComplete) return;
    while (!records.areKnown) await clock.sleep(recheckMs, signal);
    waits.announceAll();
    const unknown = records.unrecorded().map(({ pod }) => pod);
    if (fault !== undefined)
      events.node({ type: 'Warning', reason: 'ManagerStateRecovered', message: faultText(fault, unknown) });
  }
}

function faultText(fault: CheckpointFault, pods: readonly string[]): string {
  const { path, setAside, usedPrevious, why } = fault;
  const from = usedPrevious ? 'its predecessor and the runtime' : 'the runtime';
  const text = `checkpoint ${path} is damaged (${why}), was kept as ${setAside} and restored from ${from}`;
  const names = [...new Set(pods)].toSorted();
  if (names.length === 0) return text;
  const shown = names.slice(0, mostNames).join(', ');
  const list = names.length <= mostNames ? shown : `${shown} and ${names.length - mostNames} more`;
  return `${text}; until these pods end, no other pod gets devices of their resources, since it is unknown which ones they use: ${list}`;
}
