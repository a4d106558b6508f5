// How far this kubelet acts on a setting, for the rows of the field, flag and gate tables. Data only.
// Invariant: a row without an effect is acted on as upstream does; effects.test.ts compares the marks with the sources.

export type EffectKind =
  | 'none-yet' // upstream acts on it, this kubelet does not yet; the note names the missing capability
  | 'partly' // the note names the missing part
  | 'none-here' // upstream acts on it, but it has no counterpart in this implementation
  | 'none-upstream' // upstream ignores it too
  | 'always-on' // a gate whose behaviour cannot be switched off
  | 'other-component'; // a gate that no Linux kubelet reads

export interface Effect {
  readonly kind: EffectKind;
  readonly note: string;
}

export function noneYet(missing: string): Effect {
  return { kind: 'none-yet', note: missing };
}

export function partly(missing: string): Effect {
  return { kind: 'partly', note: missing };
}

export function noneHere(reason: string): Effect {
  return { kind: 'none-here', note: reason };
}

export function noneUpstream(reason: string): Effect {
  return { kind: 'none-upstream', note: reason };
}

/** The effect in one sentence, for help and the reference pages. */
export function describeEffect({ kind, note }: Effect): string {
  return descriptions[kind](note);
}

const descriptions: Readonly<Record<EffectKind, (note: string) => string>> = {
  'none-yet': (note) => `No effect yet (missing: ${note}).`,
  partly: (note) => `Only partly in effect: ${note}.`,
  'none-here': (note) => `No effect: ${note}.`,
  'none-upstream': (note) => `No effect, as in upstream: ${note}.`,
  'always-on': (note) => `Always on: ${note}.`,
  'other-component': () => 'Other components.',
};

/** The missing capabilities that several rows name. */
export const missing = {
  csi: 'CSI',
  dra: 'dynamic resource allocation',
  logOutput: 'splitting and buffering of the log output',
} as const;
