// Allocates a range of user and group IDs for each pod with a user namespace. Upstream: pkg/kubelet/userns.
// Invariant: no two pods share a range. The allocation is stored in the pod's directory, in `userns`, in upstream's format, so that
// a restarted kubelet, ours or upstream's, knows every range in use before it allocates another.
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
  /** Read for each allocation. */
  readonly maxPods: number;
  /** The machine's IDs that may be allocated to pods. */
  readonly idRange: (idsPerPod: number) => Promise<IdRange>;
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
const hostNamespace: CriRequest<UserNamespace> = { mode: NamespaceMode.NODE };

export class UserNamespaces {
  readonly #deps: UserNamespacesDeps;
  readonly #idsPerPod: number;
  /** The first ID of each pod's range. */
  readonly #allocated = new Map<string, number>();
  /** The range for allocations; resolves after the existing allocations were read. */
  #recovered: Promise<IdRange> | undefined;

  constructor(deps: UserNamespacesDeps) {
    this.#deps = deps;
    this.#idsPerPod = deps.idsPerPod ?? unit;
  }

  /** The user namespace options of the pod's sandbox and containers; undefined: none are sent. */
  async of(pod: Pod, handler: string, signal: AbortSignal): Promise<CriRequest<UserNamespace> | undefined> {
    const { enabled } = this.#deps;
    const { hostUsers } = pod.spec ?? {};
    if (hostUsers === undefined) return enabled ? hostNamespace : undefined;
    if (!enabled) {
      throw userNamespaceError(
        'the feature gate "UserNamespacesSupport" is disabled: can\'t set spec.HostUsers',
      );
    }
    if (hostUsers) return hostNamespace;
    await this.#checkSupport(handler, signal);
    const range = await this.#recover();
    const hostId = this.#allocated.get(podUid(pod)) ?? (await this.#allocate(podUid(pod), range));
    const mapping = { hostId, containerId: 0, length: this.#idsPerPod };
    return { mode: NamespaceMode.POD, uids: [mapping], gids: [mapping] };
  }

  /** Called after the pod's directory was removed. */
  release(uid: string): void {
    this.#allocated.delete(uid);
  }

  async #checkSupport(handler: string, signal: AbortSignal): Promise<void> {
    const { runtimeHandlers } = await this.#deps.cri.status({ verbose: false }, { signal });
    const found = runtimeHandlers.find(({ name }) => name === handler);
    if (found?.features?.userNamespaces === true) return;
    const what = handler === '' ? 'runtime' : `RuntimeClass handler "${handler}"`;
    const why =
      runtimeHandlers.length > 0 && found === undefined ? `: the handler "${handler}" is not known` : '';
    throw userNamespaceError(
      `can't set \`spec.hostUsers: false\`, ${what} does not support user namespaces${why}`,
    );
  }

  /** Once per process, before the first allocation; after a failure the next pod retries. */
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
    const range = await this.#deps.idRange(idsPerPod);
    checkRange(range, idsPerPod, maxPods);
    for (const uid of await files.listNames(`${rootDir}/pods`)) {
      const text = await files.readTextIfAny(`${podDirectory(rootDir, uid)}/userns`);
      if (text === undefined || text === '') continue;
      const from = parseMappings(text, uid, idsPerPod, range);
      const taken = [...this.#allocated].find(([other, id]) => id === from && other !== uid);
      if (taken !== undefined) throw userNamespaceError(`range picked for pod "${uid}" already taken`);
      this.#allocated.set(uid, from);
    }
    return range;
  }

  async #allocate(uid: string, range: IdRange): Promise<number> {
    const { files, maxPods, rootDir } = this.#deps;
    const idsPerPod = this.#idsPerPod;
    // maxPods may have changed since the range was found.
    checkRange(range, idsPerPod, maxPods);
    const from = this.#free(range);
    this.#allocated.set(uid, from);
    const mapping: IdMapping = { hostId: from, containerId: 0, length: idsPerPod };
    const directory = podDirectory(rootDir, uid);
    try {
      await files.makeDirectory(directory, 0o750);
      const text = JSON.stringify({ uidMappings: [mapping], gidMappings: [mapping] });
      await files.writeText(`${directory}/userns`, text, 0o644);
    } catch (err) {
      this.#allocated.delete(uid);
      throw userNamespaceError(`create user namespace: ${describeError(err)}`, err);
    }
    return from;
  }

  #free({ first, length }: IdRange): number {
    const idsPerPod = this.#idsPerPod;
    const taken = new Set(this.#allocated.values());
    const past = first + length;
    for (let id = first; id + idsPerPod <= past; id += idsPerPod) if (!taken.has(id)) return id;
    throw userNamespaceError(
      'create user namespace: could not find an empty slot to allocate a user namespace',
    );
  }
}

/** IDs below the first unit belong to the node: mapping ID 0 would defeat the isolation. */
function checkRange({ first, length }: IdRange, idsPerPod: number, maxPods: number): void {
  if (idsPerPod % unit !== 0)
    throw userNamespaceError(`kubelet user namespace length ${idsPerPod} is not a multiple of ${unit}`);
  if (first % idsPerPod !== 0)
    throw userNamespaceError(`kubelet user assigned ID ${first} is not a multiple of ${idsPerPod}`);
  if (first < idsPerPod)
    throw userNamespaceError(`kubelet user assigned ID ${first} must be greater or equal to ${idsPerPod}`);
  if (length % idsPerPod !== 0)
    throw userNamespaceError(`kubelet user assigned IDs length ${length} is not a multiple of ${idsPerPod}`);
  if (length / idsPerPod < maxPods)
    throw userNamespaceError(`kubelet user assigned IDs are not enough to support ${maxPods} pods`);
}

function userNamespaceError(message: string, cause?: unknown): KubeletError {
  return new KubeletError('invalid', 'UserNamespace', message, cause === undefined ? {} : { cause });
}

/** The first ID of the range in a `userns` file. */
export function parseMappings(text: string, uid: string, idsPerPod: number, allocatable: IdRange): number {
  const bad = (why: string): KubeletError =>
    userNamespaceError(`user namespace mappings of pod "${uid}": ${why}`);
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
  if (hostId < allocatable.first || hostId + length > allocatable.first + allocatable.length)
    throw bad(`id ${hostId} is out of range`);
  return hostId;
}
