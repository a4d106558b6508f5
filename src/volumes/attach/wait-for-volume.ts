// Waits for what a volume needs before it can be set up: its driver, and its attachment to this node. Upstream fails the mount
// instead and polls with backoff. Invariants: a waiting volume holds no lock and makes no call of its driver; what it waits for is
// named in /explain at any time, and in an event when it takes long; a wait ends with the volume's pod.
import type { EventSink } from '../../api/ports/events.ts';
import { raceAbort } from '../../base/abort/race-abort.ts';
import type { Subscribable } from '../../base/channel.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { ReportedError, unattachedFailure } from '../mount-failure.ts';
import type { AttachFailure, VolumePlugin, VolumeSpec } from '../plugin.ts';
import type { PodMounts } from '../pod-mounts.ts';
import type { NodeAttachments } from './node-attachments.ts';

export interface WaitDeps {
  /** Undefined on a node without an API server, where no volume is attached. */
  readonly attachments: NodeAttachments | undefined;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Before the first event; most drivers register within seconds of the kubelet's start. */
const firstReportMs = 10_000;
const reportEveryMs = 120_000;
/** Upstream: podAttachAndMountTimeout. */
const attachTimeoutMs = 123_000;
/** The reason why a volume is not attached is read after this long, then at doubled intervals. */
const firstReadMs = 10_000;

/** Resolves when nothing that the plugin requires is missing. */
export async function untilAvailable(
  { clock, events, log }: WaitDeps,
  mounts: PodMounts,
  { prerequisite }: Pick<VolumePlugin, 'prerequisite'>,
  spec: VolumeSpec,
): Promise<void> {
  if (prerequisite === undefined) return;
  const { name } = spec;
  let reportAtMs = clock.monotonic() + firstReportMs;
  for (;;) {
    const missing = prerequisite.missing(spec);
    mounts.waitsFor(name, missing);
    if (missing === undefined) return;
    if (clock.monotonic() >= reportAtMs) {
      const message = `volume "${name}" waits for ${missing}`;
      events.pod(mounts.pod, { type: 'Warning', reason: 'FailedMount', message });
      log.warn('Waiting for what a volume requires', {
        podUID: mounts.pod.metadata?.uid,
        volume: name,
        missing,
      });
      reportAtMs += reportEveryMs;
    }
    await changeOrTime(clock, [prerequisite.changed], reportAtMs - clock.monotonic(), mounts.signal);
  }
}

/** Resolves to the device path of an attached volume; undefined if the volume needs no attaching. */
export async function untilAttached(
  { attachments, clock }: WaitDeps,
  mounts: PodMounts,
  plugin: Pick<VolumePlugin, 'attachName' | 'attachment' | 'prerequisite'>,
  spec: VolumeSpec,
): Promise<string | undefined> {
  if (attachments === undefined) return undefined;
  const sources = [attachments.changed, ...(plugin.prerequisite ? [plugin.prerequisite.changed] : [])];
  const giveUpAtMs = clock.monotonic() + attachTimeoutMs;
  let readMs = firstReadMs;
  let readAtMs = clock.monotonic() + readMs;
  let failure: AttachFailure | undefined;
  for (;;) {
    // The driver's settings may change in the meantime.
    const name = plugin.attachName(spec);
    if (name === undefined) break;
    if (!attachments.byController) {
      if (plugin.attachment === undefined) break;
      throw new KubeletError(
        'invalid',
        'FailedMount',
        'attaching volumes from the kubelet is not supported',
        {
          details: { step: 'WaitForAttach' },
        },
      );
    }
    const devicePath = attachments.devicePath(name);
    if (devicePath !== undefined) {
      mounts.waitsFor(spec.name, undefined);
      return devicePath;
    }
    const missing = attachments.missing(name);
    const why = failure === undefined ? missing : `${missing}: ${failure.message}`;
    mounts.waitsFor(spec.name, why);
    if (clock.monotonic() >= giveUpAtMs)
      throw new ReportedError(unattachedFailure(spec.name, why, failure?.isLimit === true));
    if (clock.monotonic() >= readAtMs) {
      readMs *= 2;
      readAtMs += readMs;
      failure = await plugin.attachment?.failure(spec, mounts.signal).catch(() => undefined);
      mounts.signal.throwIfAborted();
      // The state may have changed during the call.
      continue;
    }
    await changeOrTime(clock, sources, Math.min(readAtMs, giveUpAtMs) - clock.monotonic(), mounts.signal);
  }
  mounts.waitsFor(spec.name, undefined);
  return undefined;
}

/** Resolves when one of the channels announces something, or after the time. */
async function changeOrTime(
  clock: Clock,
  sources: readonly Subscribable<unknown>[],
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  const ended = new AbortController();
  let ends: (() => void)[] = [];
  const announced = new Promise<void>((resolve) => {
    ends = sources.map((source) => source.subscribe(() => resolve()));
  });
  try {
    const time = clock.sleep(ms, ended.signal).catch(() => undefined);
    await raceAbort(Promise.race([announced, time]), signal);
  } finally {
    ended.abort();
    for (const end of ends) end();
  }
}
