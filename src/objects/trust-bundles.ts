// ClusterTrustBundles, watched from the first time that a pod needs one. Upstream: pkg/kubelet/clustertrustbundle.
// Invariants: a node whose pods use none lists none; a change is announced after it can be read, by the bundle's name and by
// its signer's, since a pod may refer to either.

import { formatLabelSelector } from '../api/k8s/label-selector-text.ts';
import { matchesLabels, requirementsOfSelector } from '../api/k8s/labels.ts';
import type { ClusterTrustBundle } from '../api/k8s/types.ts';
import type { ApiClient, Follow } from '../api/ports/api-client.ts';
import type { ChangedObject, TrustBundleChoice } from '../api/ports/pod-objects.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import { raceAbort, untilAborted } from '../base/abort/race-abort.ts';
import type { Clock } from '../base/clock.ts';
import { describeError, isKind, KubeletError } from '../base/errors.ts';
import { ListedObjects } from './listed-objects.ts';
import { normalizeTrustAnchors } from './trust-anchors.ts';

interface TrustBundlesDeps {
  readonly client: Pick<ApiClient, 'get'>;
  readonly follow: Follow;
  /** The gate ClusterTrustBundleProjection. */
  readonly enabled: boolean;
  readonly announce: (changed: ChangedObject) => void;
  /** In [0, 1). */
  readonly random: () => number;
  readonly clock: Clock;
}

/** How long the first pod waits for the list. */
const firstListMs = 10_000;
const group = '/apis/certificates.k8s.io';
/** Newest first. */
const versions = ['v1', 'v1beta1', 'v1alpha1'];
/** Upstream's limit. */
const maxSelectorLength = 100 * 1024;

export class TrustBundles {
  readonly #deps: TrustBundlesDeps;
  readonly #bundles = new ListedObjects<ClusterTrustBundle>();
  /** Determines the order of certificates; differs in each process. */
  readonly #salt: string;
  #stopSignal: AbortSignal | undefined;
  /** Resolves to whether the server serves trust bundles; if not, the next request checks again. */
  #opening: Promise<boolean> | undefined;
  #following: Promise<void> = Promise.resolve();

  constructor(deps: TrustBundlesDeps) {
    this.#deps = deps;
    this.#salt = String(deps.random());
  }

  /** Runs until the signal is aborted; resolves when every watch has ended. */
  async run(signal: AbortSignal): Promise<void> {
    this.#stopSignal = signal;
    await untilAborted(signal);
    await this.#following;
  }

  /** Certificates in PEM; empty if none match and the choice is optional. */
  async anchors(choice: TrustBundleChoice, signal: AbortSignal): Promise<string> {
    if (!this.#deps.enabled || !(await raceAbort(this.#open(), signal)))
      throw new KubeletError(
        'unavailable',
        'NoTrustBundles',
        'ClusterTrustBundle projection is not supported in static kubelet mode',
      );
    const all = await this.#listed(signal);
    const chosen = 'name' in choice ? byName(all, choice.name) : bySigner(all, choice);
    if (chosen.length === 0 && !choice.optional) throw noneFound(choice);
    return normalizeTrustAnchors(
      chosen.map(({ spec }) => spec?.trustBundle ?? ''),
      this.#salt,
    );
  }

  async #listed(signal: AbortSignal): Promise<readonly ClusterTrustBundle[]> {
    const what = 'list the trust bundles';
    const waiting = { clock: this.#deps.clock, ms: firstListMs, signal, what };
    return await withDeadline(waiting, (within) => this.#bundles.all(within)).catch((err: unknown) => {
      if (!isKind(err, 'timeout')) throw err;
      const message = 'ClusterTrustBundle informer has not yet synced';
      throw new KubeletError('unavailable', 'NotSynced', message, { cause: err });
    });
  }

  #open(): Promise<boolean> {
    this.#opening ??= this.#begin().catch((err: unknown) => {
      this.#opening = undefined;
      throw new KubeletError(
        err instanceof KubeletError ? err.kind : 'internal',
        'NoTrustBundles',
        `failed to ensure informer manager for ClusterTrustBundles: failed to determine which informer manager to choose: ${describeError(err)}`,
        { cause: err },
      );
    });
    return this.#opening;
  }

  /** Shared by all callers, and bound to the component's signal, so that no caller can cancel it for the others. */
  async #begin(): Promise<boolean> {
    const stopSignal = this.#stopSignal;
    if (stopSignal === undefined)
      throw new KubeletError('unavailable', 'NotStarted', 'the trust bundles are not watched yet');
    for (const version of versions) {
      if (!(await this.#isServed(version, stopSignal))) continue;
      this.#follow(version, stopSignal);
      return true;
    }
    // differs from upstream: the next pod checks again, since the server may have been upgraded meanwhile.
    this.#opening = undefined;
    return false;
  }

  async #isServed(version: string, signal: AbortSignal): Promise<boolean> {
    const found = await this.#deps.client
      .get<{ readonly resources?: readonly { readonly name: string }[] }>(`${group}/${version}`, { signal })
      .catch((err: unknown) => {
        if (isKind(err, 'not-found')) return { resources: [] };
        throw err;
      });
    return (found.resources ?? []).some(({ name }) => name === 'clustertrustbundles');
  }

  #follow(version: string, stopSignal: AbortSignal): void {
    const announce = (bundle: ClusterTrustBundle): void => this.#announce(bundle);
    const sink = {
      replace: (all: readonly ClusterTrustBundle[]) => {
        this.#bundles.replace(all);
        all.forEach(announce);
      },
      upsert: (bundle: ClusterTrustBundle) => {
        this.#bundles.upsert(bundle);
        announce(bundle);
      },
      remove: (bundle: ClusterTrustBundle) => {
        this.#bundles.remove(bundle);
        announce(bundle);
      },
    };
    const path = `${group}/${version}/clustertrustbundles`;
    this.#following = this.#deps.follow<ClusterTrustBundle>({ path }, sink, stopSignal);
  }

  #announce({ metadata, spec }: ClusterTrustBundle): void {
    const { announce } = this.#deps;
    announce({ kind: 'ClusterTrustBundle', namespace: '', name: metadata?.name ?? '' });
    const signer = spec?.signerName ?? '';
    if (signer !== '') announce({ kind: 'TrustBundleSigner', namespace: '', name: signer });
  }
}

function byName(all: readonly ClusterTrustBundle[], name: string): readonly ClusterTrustBundle[] {
  return all.filter(({ metadata }) => metadata?.name === name);
}

/** An absent selector selects nothing; an empty one selects everything of the signer. */
function bySigner(
  all: readonly ClusterTrustBundle[],
  { signerName, labelSelector }: Extract<TrustBundleChoice, { readonly signerName: string }>,
): readonly ClusterTrustBundle[] {
  const requirements = requirementsOfSelector(labelSelector);
  if (requirements === undefined) return [];
  const { length } = formatLabelSelector(requirements);
  if (length > maxSelectorLength) {
    const message = `label selector length (${length}) is larger than ${maxSelectorLength}`;
    throw new KubeletError('invalid', 'FailedMount', message);
  }
  return all.filter(
    ({ metadata, spec }) => spec?.signerName === signerName && matchesLabels(requirements, metadata?.labels),
  );
}

function noneFound(choice: TrustBundleChoice): KubeletError {
  const message =
    'name' in choice
      ? `while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "${choice.name}" not found`
      : 'combination of signerName and labelSelector matched zero ClusterTrustBundles';
  return new KubeletError('not-found', 'FailedMount', message);
}
