// What a node waits for before it is reported Ready for the first time: its CSINode object, and the plugins that
// --ready-requires-csi-drivers and --ready-requires-device-plugins name.
// Invariant: after the node was Ready once, neither the loss of a plugin nor a restart of the kubelet makes it NotReady.
// Upstream has only the first, as the storage errors of pkg/kubelet/runtime.go.
import { mergeChannels, type Subscribable } from '../base/channel.ts';

interface RequiredPlugins {
  /** As in the message: `CSI driver`. */
  readonly kind: string;
  readonly names: readonly string[];
  isRegistered(name: string): boolean;
  readonly changed: Subscribable<string>;
}

interface StartupProblemsDeps {
  readonly csiNode: { problems(): readonly string[]; readonly changed: Subscribable<void> } | undefined;
  readonly required: readonly RequiredPlugins[];
}

export class StartupProblems {
  readonly #deps: StartupProblemsDeps;
  /** Announces that problems() may have changed. */
  readonly changed: Subscribable<void>;
  #hasPassed = false;

  constructor(deps: StartupProblemsDeps) {
    this.#deps = deps;
    const { csiNode, required } = deps;
    this.changed = mergeChannels(
      ...(csiNode === undefined ? [] : [csiNode.changed]),
      ...required.filter(({ names }) => names.length > 0).map((each) => requiredChanged(each)),
    );
  }

  /** Empty after passed(). */
  problems(): readonly string[] {
    if (this.#hasPassed) return [];
    const { csiNode, required } = this.#deps;
    return [
      ...(csiNode?.problems() ?? []),
      ...required.flatMap((plugins) =>
        plugins.names
          .filter((name) => !plugins.isRegistered(name))
          .map((name) => `waiting for ${plugins.kind} ${name} to register`),
      ),
    ];
  }

  /** The node was reported Ready. */
  passed(): void {
    this.#hasPassed = true;
  }
}

/** Other plugins of the kind do not wake the node status. `sources` are named by docs/wiring.md. */
function requiredChanged({
  changed,
  names,
}: RequiredPlugins): Subscribable<void> & { readonly sources: readonly object[] } {
  return {
    sources: [changed],
    subscribe: (listener) =>
      changed.subscribe((name) => {
        if (names.includes(name)) listener();
      }),
  };
}
