// Decides which configuration a starting kubelet runs: that of the files, or the last known good one. Pure.
// Upstream (until 1.23): Bootstrap in pkg/kubelet/kubeletconfig/controller.go, which used the last known good configuration
// only when a downloaded one could not be loaded.

/** What is on disk about the last configuration that was on trial. */
export interface TrialMarker {
  readonly checksum: string;
  /** `trying`: written before it was put in force, removed when the trial or the kubelet ends. `failed`: it fell back. */
  readonly state: 'trying' | 'failed';
  readonly reason: string;
}

interface StartInput {
  readonly files: { readonly checksum: string; readonly isValid: boolean };
  /** The checksum of the last known good configuration; undefined if there is none that can be used. */
  readonly lastKnownGood: string | undefined;
  readonly marker: TrialMarker | undefined;
}

export type StartDecision =
  | { readonly run: 'files'; readonly onTrial: boolean }
  | { readonly run: 'last-known-good'; readonly because: 'invalid' | 'crashed' | 'failed' }
  | { readonly run: 'nothing' };

export function computeStart({ files, lastKnownGood, marker }: StartInput): StartDecision {
  if (!files.isValid)
    return lastKnownGood === undefined ? { run: 'nothing' } : { run: 'last-known-good', because: 'invalid' };
  // Without another configuration even one that crashed is tried again, as without the feature.
  if (lastKnownGood === undefined) return { run: 'files', onTrial: true };
  if (files.checksum === lastKnownGood) return { run: 'files', onTrial: false };
  if (marker?.checksum !== files.checksum) return { run: 'files', onTrial: true };
  return { run: 'last-known-good', because: marker.state === 'trying' ? 'crashed' : 'failed' };
}
