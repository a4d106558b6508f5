// Gives each pod that wants users of its own a range of the node's user and group IDs. Upstream: pkg/kubelet/userns.
// Invariant: no two pods share a range. What was given is kept in the pod's directory, `userns`, in upstream's form, so that a
// kubelet that starts anew, ours or upstream's, knows every range that is in use before it gives away another.

import { NamespaceMode, type UserNamespace } from '../../api/cri/generated/runtime/v1/api.ts';
import type { CriRequest, CriRuntime } from '../../api/cri/runtime.ts';
import type { Pod } from '../../api/k8s/types.ts';
import { podUid } from '../../api/pod/pod-ref.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { podDirectory } from '../paths.ts';
import type { RuntimeFiles } from '../runtime-deps.ts';

export interface UserNamespacesDeps {
  readonly cri: Pick<CriRuntime, 'status'>;
  readonly files: Pick<RuntimeFiles, 'listNames' | 'makeDirectory' | 'readTextIfAny' | 'writeText'>;
  readonly rootDir: string;
  /** The gate UserNamespacesSupport. */
  readonly enabled: boolean;
  /** Undefined: upstream's default, 65536. */
  readonly idsPerPod?: number | undefined;
  readonly maxPods: number;
  /** What of the machine's IDs may be given to pods. */
  readonly idRange: () => Promise<IdRange>;
}

interface IdRange {
  readonly first: number;
  readonly length: number;
}

interface IdMapping {
  readonly hostId: number;
  readonly containerId: number;
  readonly length: number;
}

const unit = 65_536;
const onNode: CriRequest<UserNamespace> = { mode: NamespaceMode.NODE };

export class UserNamespaces {
  readonly #deps: UserNamespacesDeps;
  readonly #idsPerPod: number;
  /** By pod: the first ID of its range. */
  readonly #given = new Map<string, number>();
  /** What is there to give, once what was given before is known. */
  #recovered: Promise<IdRange> | undefined;

  constructor(deps: UserNamespacesDeps) {
    this.#deps = deps;
    this.#idsPerPod = deps.idsPerPod ?? unit;
  }

  /** What the pod's containers and its sandbox ask the runtime for; undefined where the runtime is told nothing. */
  async of(pod: Pod, handler: string, signal: AbortSignal): Promise<CriRequest<UserNamespace> | undefined> {
    const { enabled } = this.#deps;
    const { hostUsers } = pod.spec ?? {};
    if (hostUsers === undefined) return enabled ? onNode : undefined;
    if (!enabled) {
      throw refused('the feature gate "UserNamespacesSupport" is disabled: can\'t set spec.HostUsers');
    }
    if (hostUsers) return onNode;
    await this.#checkSupport(handler, signal);
    const range = await this.#recover();
    const hostId = this.#given.get(podUid(pod)) ?? (await this.#give(podUid(pod), range));
    const mapping = { hostId, containerId: 0, length: this.#idsPerPod };
    return { mode: NamespaceMode.POD, uids: [mapping], gids: [mapping] };
  }

  /** The pod and its directory have gone. */
  release(uid: string): void {
    this.#given.delete(uid);
  }

  async #checkSupport(handler: string, signal: AbortSignal): Promise<void> {
    const { runtimeHandlers } = await this.#deps.cri.status({ verbose: false }, { signal });
    const known = runtimeHandlers.find(({ name }) => name === handler);
    if (known?.features?.userNamespaces === true) return;
    const who = handler === '' ? 'runtime' : `RuntimeClass handler "${handler}"`;
    const why =
      runtimeHandlers.length > 0 && known === undefined ? `: the handler "${handler}" is not known` : '';
    throw refused(`can't set \`spec.hostUsers: false\`, ${who} does not support user namespaces${why}`);
  }

  /** Once per life, before the first range is given away; a failure is tried again by the next pod. */
  async #recover(): Promise<IdRange> {
    this.#recovered ??= this.#readAll();
    try {
      return await this.#recovered;
    } catch (err) {
      this.#recovered = undefined;
      throw err;
    }
  }

  async #readAll(): Promise<IdRange> {
    const { files, maxPods, rootDir } = this.#deps;
    const idsPerPod = this.#idsPerPod;
    const range = await this.#deps.idRange();
    checkRange(range, idsPerPod, maxPods);
    for (const uid of await files.listNames(`${rootDir}/pods`)) {
      const text = await files.readTextIfAny(`${podDirectory(rootDir, uid)}/userns`);
      if (text === undefined || text === '') continue;
      const from = parseMappings(text, uid, idsPerPod, range);
      const taken = [...this.#given].find(([other, id]) => id === from && other !== uid);
      if (taken !== undefined) throw refused(`range picked for pod "${uid}" already taken`);
      this.#given.set(uid, from);
    }
    return range;
  }

  async #give(uid: string, range: IdRange): Promise<number> {
    const { files, rootDir } = this.#deps;
    const idsPerPod = this.#idsPerPod;
    const from = this.#free(range);
    this.#given.set(uid, from);
    const mapping: IdMapping = { hostId: from, containerId: 0, length: idsPerPod };
    const directory = podDirectory(rootDir, uid);
    try {
      await files.makeDirectory(directory, 0o750);
      const text = JSON.stringify({ uidMappings: [mapping], gidMappings: [mapping] });
      await files.writeText(`${directory}/userns`, text, 0o644);
    } catch (err) {
      this.#given.delete(uid);
      throw refused(`create user namespace: ${describeError(err)}`, err);
    }
    return from;
  }

  #free({ first, length }: IdRange): number {
    const idsPerPod = this.#idsPerPod;
    const taken = new Set(this.#given.values());
    const past = first + length;
    for (let id = first; id + idsPerPod <= past; id += idsPerPod) if (!taken.has(id)) return id;
    throw refused('create user namespace: could not find an empty slot to allocate a user namespace');
  }
}

/** IDs below the first unit belong to the node itself: mapping 0 would undo the protection. */
function checkRange({ first, length }: IdRange, idsPerPod: number, maxPods: number): void {
  if (idsPerPod % unit !== 0)
    throw refused(`kubelet user namespace length ${idsPerPod} is not a multiple of ${unit}`);
  if (first % idsPerPod !== 0)
    throw refused(`kubelet user assigned ID ${first} is not a multiple of ${idsPerPod}`);
  if (first < idsPerPod)
    throw refused(`kubelet user assigned ID ${first} must be greater or equal to ${idsPerPod}`);
  if (length % idsPerPod !== 0)
    throw refused(`kubelet user assigned IDs length ${length} is not a multiple of ${idsPerPod}`);
  if (length / idsPerPod < maxPods)
    throw refused(`kubelet user assigned IDs are not enough to support ${maxPods} pods`);
}

function refused(message: string, cause?: unknown): KubeletError {
  return new KubeletError('invalid', 'UserNamespace', message, cause === undefined ? {} : { cause });
}

/** The first ID of the one range that such a file names. */
export function parseMappings(text: string, uid: string, idsPerPod: number, given: IdRange): number {
  const bad = (why: string): KubeletError => refused(`user namespace mappings of pod "${uid}": ${why}`);
  let parsed: { uidMappings?: readonly IdMapping[]; gidMappings?: readonly IdMapping[] } | null;
  try {
    parsed = JSON.parse(text) as typeof parsed;
  } catch (err) {
    throw bad(`invalid file: ${describeError(err)}`);
  }
  const uids = parsed?.uidMappings ?? [];
  const [range] = uids;
  if (range === undefined || uids.length !== 1) throw bad('there must be exactly one mapping');
  if (JSON.stringify(parsed?.gidMappings) !== JSON.stringify(uids)) {
    throw bad('GID and UID mappings should be identical');
  }
  const { containerId, hostId, length } = range;
  if (containerId !== 0) throw bad('UID 0 must be mapped');
  if (length !== idsPerPod) throw bad(`wrong user namespace length ${length}`);
  if (!Number.isInteger(hostId) || hostId % idsPerPod !== 0)
    throw bad(`wrong user namespace offset specified ${hostId}`);
  if (hostId < given.first || hostId + length > given.first + given.length)
    throw bad(`id ${hostId} is out of range`);
  return hostId;
}
