// What a container runtime reports of itself, beyond what the kubelet needs to run pods. Nothing is created in the runtime.
import { connect } from 'node:net';
import type { CriImages, CriRuntime } from '../../api/cri/runtime.ts';
import { isObject } from '../../base/guards.ts';
import { parseCriEndpoint } from '../cri/endpoint.ts';
import { errorCode } from '../syscalls/syscalls-errors.ts';

type SocketState = 'open' | 'missing' | 'refused' | 'no-socket' | 'forbidden';

const states: Readonly<Record<string, SocketState>> = {
  ENOENT: 'missing',
  ENOTDIR: 'missing',
  ECONNREFUSED: 'refused',
  ENOTSOCK: 'no-socket',
  EACCES: 'forbidden',
  EPERM: 'forbidden',
};

/** Connects once and closes. Throws for an endpoint that is no unix socket. */
export async function probeSocket(endpoint: string, signal: AbortSignal): Promise<SocketState> {
  const path = parseCriEndpoint(endpoint);
  const socket = connect({ path, signal });
  try {
    return await new Promise((resolve, reject) => {
      socket.once('connect', () => resolve('open'));
      socket.once('error', (err) => {
        const state = states[errorCode(err) ?? ''];
        if (state === undefined) reject(err);
        else resolve(state);
      });
    });
  } finally {
    socket.destroy();
  }
}

interface RuntimeState {
  readonly conditions: readonly {
    readonly type: string;
    readonly status: boolean;
    readonly reason: string;
    readonly message: string;
  }[];
  readonly sandboxImage: string | undefined;
  readonly cgroupDriver: string | undefined;
  readonly cniConfDir: string | undefined;
  readonly cniBinDir: string | undefined;
}

export async function readRuntimeState(
  cri: Pick<CriRuntime, 'status'>,
  signal: AbortSignal,
): Promise<RuntimeState> {
  const { info, status } = await cri.status({ verbose: true }, { signal });
  return { conditions: status?.conditions ?? [], ...configurationOf(info['config']) };
}

/** The text is larger than any configuration, so it is not one. */
const longestConfiguration = 4 * 1024 * 1024;

/** The configuration that containerd adds to its verbose status; other runtimes add none or another one. */
export function configurationOf(
  text: string | undefined,
): Pick<RuntimeState, 'sandboxImage' | 'cgroupDriver' | 'cniConfDir' | 'cniBinDir'> {
  const config = parsed(text);
  const containerd = at(config, 'containerd');
  const runtime = at(containerd, 'runtimes', textAt(containerd, 'defaultRuntimeName') ?? 'runc');
  const usesSystemd = at(runtime, 'options')?.['SystemdCgroup'];
  const cni = at(config, 'cni');
  const driver = usesSystemd === true ? 'systemd' : 'cgroupfs';
  return {
    sandboxImage: textAt(config, 'sandboxImage'),
    // An absent option is false.
    cgroupDriver: runtime === undefined ? undefined : driver,
    cniConfDir: textAt(cni, 'confDir'),
    cniBinDir: textAt(cni, 'binDir'),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function parsed(text: string | undefined): Fields | undefined {
  if (text === undefined || text.length > longestConfiguration) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function at(fields: Fields | undefined, ...path: readonly string[]): Fields | undefined {
  let current: unknown = fields;
  for (const name of path) current = isObject(current) ? current[name] : undefined;
  return isObject(current) ? current : undefined;
}

function textAt(fields: Fields | undefined, name: string): string | undefined {
  const value = fields?.[name];
  return typeof value === 'string' ? value : undefined;
}

/** The directory of the runtime's images; undefined if it reports none. */
export async function imageDirectory(
  cri: Pick<CriImages, 'imageFsInfo'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { imageFilesystems } = await cri.imageFsInfo({}, { signal });
  const directory = imageFilesystems[0]?.fsId?.mountpoint ?? '';
  return directory.startsWith('/') ? directory : undefined;
}
