// The calls of drivers that pods wait for, for /explain. Upstream has no counterpart.
// Invariant: a call is listed until it ends, whatever became of the attempt that made it.
import type { CsiCallOptions, CsiDriverClient } from '../../api/ports/csi.ts';
import type { PodActivity } from '../../api/ports/pod-activity.ts';
import type { Clock } from '../../base/clock.ts';
import { InFlight } from '../../base/in-flight.ts';
import type { SetUpRequest } from '../plugin.ts';

/** The calls that are made for one volume of a pod. */
export type VolumeCalls = Pick<
  CsiDriverClient,
  'capabilities' | 'expand' | 'publish' | 'stage' | 'unpublish'
>;

export class DriverCalls {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #calls = new InFlight<PodActivity>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** The driver for a volume of the pod. */
  of(
    client: VolumeCalls & Pick<CsiDriverClient, 'driver'>,
    uid: string,
    volume: string,
    { onWait, ...options }: CsiCallOptions & Pick<SetUpRequest, 'onWait'> = {},
  ): VolumeCalls {
    const during = <T>(method: string, call: () => Promise<T>): Promise<T> => {
      const what = `volume ${volume} waits for the CSI driver ${client.driver} to answer ${method}`;
      return this.#calls.during(uid, { what, sinceMs: this.#clock.now() }, call);
    };
    return {
      capabilities: (signal) => during('NodeGetCapabilities', () => client.capabilities(signal, options)),
      expand: (request, signal) => during('NodeExpandVolume', () => client.expand(request, signal, options)),
      publish: (request, signal) => {
        onWait?.();
        return during('NodePublishVolume', () => client.publish(request, signal, options));
      },
      stage: (request, signal) => {
        onWait?.();
        return during('NodeStageVolume', () => client.stage(request, signal, options));
      },
      unpublish: (request, signal) =>
        during('NodeUnpublishVolume', () => client.unpublish(request, signal, options)),
    };
  }

  activities(uid: string): readonly PodActivity[] {
    return this.#calls.activities(uid);
  }
}
