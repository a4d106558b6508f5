// Carries out what has to happen at once when a field of the configuration changes while the kubelet runs. Most components need
// nothing: they read the field when they use it next.
import type { Subscribable } from '../../base/channel.ts';
import { type Component, on, reaction } from '../../base/component.ts';

/** What to do after a field changed, by its path. Idempotent and cheap: one change of the configuration may run it repeatedly. */
type Reactions = Readonly<Record<string, () => void>>;

export function followConfiguration(
  live: { readonly changed: Subscribable<string> },
  reactions: Reactions,
): Component {
  return reaction('live-settings', [on(live.changed, (path) => reactions[path]?.())]);
}
