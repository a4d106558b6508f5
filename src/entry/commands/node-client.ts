// The kubelet that a command shows: its address from the options, and the answers that several commands need.
import { readFile } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import type { Pod } from '../../api/k8s/types.ts';
import { realClock } from '../../base/clock.ts';
import { isKind, KubeletError } from '../../base/errors.ts';
import { isObject } from '../../base/guards.ts';
import { Secret } from '../../base/log/secret.ts';
import type { ParsedCommand } from '../../config/command-line/parse-subcommand.ts';
import { NodeApi, type ServerAddress } from '../../edge/node-api/node-api.ts';
import type { ExplainedPod } from '../../terminal/pod-rows.ts';
import { parseSafeJson } from '../../terminal/safe-text.ts';
import type { Screen } from '../../terminal/style.ts';
import { type CommandOutput, UsageError } from './command-call.ts';

const defaultRootDir = '/var/lib/kubelet';
const socketName = 'kubelet-api.sock';
/** Linux limits the path of a unix socket to 107 bytes. */
const maxSocketBytes = 107;

const forServer = [
  'client-certificate',
  'client-key',
  'token-file',
  'certificate-authority',
  'insecure-skip-tls-verify',
];

type Options = ParsedCommand['options'];

export async function openNodeApi(options: Options): Promise<NodeApi> {
  const server = textOption(options, 'server');
  if (server !== undefined) {
    if (options.has('root-dir')) throw new UsageError('--server and --root-dir are mutually exclusive');
    return new NodeApi({ at: await serverAddress(server, options), clock: realClock });
  }
  const stray = forServer.find((name) => options.has(name));
  if (stray !== undefined) throw new UsageError(`--${stray} needs --server`);
  const socketPath = join(resolve(textOption(options, 'root-dir') ?? defaultRootDir), socketName);
  return new NodeApi({ at: { socketPath: connectable(socketPath) }, clock: realClock });
}

/** A long absolute path is tried relative to the working directory. */
function connectable(path: string): string {
  if (Buffer.byteLength(path) <= maxSocketBytes || !isAbsolute(path)) return path;
  const cwd = `${process.cwd()}/`;
  return path.startsWith(cwd) ? path.slice(cwd.length) : path;
}

async function serverAddress(text: string, options: Options): Promise<ServerAddress> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new UsageError(`--server is a URL such as https://127.0.0.1:10250, not ${JSON.stringify(text)}`);
  const [ca, cert, key, token] = await Promise.all(
    ['certificate-authority', 'client-certificate', 'client-key', 'token-file'].map((name) =>
      fileOption(options, name),
    ),
  );
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError('--client-certificate and --client-key belong together');
  if (url.protocol === 'http:' && token !== undefined)
    if (!/^(127\.|\[::1\]$|localhost$)/.test(url.hostname))
      // A token that is sent over plain HTTP can be read by others on the network.
      throw new UsageError('--token-file needs https, or a loopback address');
  return {
    url,
    ca,
    cert,
    key: key === undefined ? undefined : new Secret(key),
    token: token === undefined ? undefined : new Secret(token.trim()),
    insecure: options.get('insecure-skip-tls-verify') === true,
  };
}

async function fileOption(options: Options, name: string): Promise<string | undefined> {
  const path = textOption(options, name);
  if (path === undefined) return undefined;
  try {
    return await readFile(path, 'utf8');
  } catch (err) {
    const why = err instanceof Error && 'code' in err ? String(err.code) : String(err);
    throw new KubeletError('invalid', 'UnreadableFile', `failed to read --${name} ${path}: ${why}`);
  }
}

export function textOption(options: Options, name: string): string | undefined {
  const value = options.get(name);
  return value === true ? undefined : value;
}

/** The namespace whose pods are shown; undefined: all. */
export function namespaceOption(options: Options): string | undefined {
  return options.has('all-namespaces') ? undefined : textOption(options, 'namespace');
}

/** A whole number in the range; undefined if the option is absent. */
export function numberOption(
  options: Options,
  name: string,
  least: number,
  most: number,
): number | undefined {
  const text = textOption(options, name);
  if (text === undefined) return undefined;
  const number = /^-?\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw new UsageError(`--${name} is a whole number from ${least} to ${most}, not ${JSON.stringify(text)}`);
}

interface NodePods {
  readonly pods: readonly Pod[];
  readonly explained: readonly ExplainedPod[];
}

interface NamedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Pods that terminate may be among the explanations only. */
export function namesOf({ explained, pods }: NodePods): readonly NamedPod[] {
  const listed = pods.map(({ metadata }) => ({
    namespace: metadata?.namespace ?? 'default',
    name: metadata?.name ?? '',
    uid: metadata?.uid ?? '',
  }));
  const uids = new Set(listed.map(({ uid }) => uid));
  return [...listed, ...explained.filter(({ uid }) => !uids.has(uid))];
}

/** `safe`: every text can be printed. */
export async function readPods(
  api: NodeApi,
  signal: AbortSignal,
  { safe }: { readonly safe: boolean },
): Promise<NodePods> {
  const [list, explained] = await Promise.all([
    api.get('/pods', signal),
    // Kubelets before this path: the table then has no explanations.
    api.get('/explain', signal).catch((err: unknown) => {
      if (isKind(err, 'not-found')) return '{}';
      throw err;
    }),
  ]);
  return {
    pods: listOf(list, 'items', safe) as readonly Pod[],
    explained: listOf(explained, 'pods', safe) as readonly ExplainedPod[],
  };
}

function listOf(json: string, field: string, safe: boolean): readonly unknown[] {
  const answer = readJson(json, safe);
  const list = isObject(answer) ? answer[field] : undefined;
  return Array.isArray(list) ? list : [];
}

export function readJson(json: string, safe: boolean): unknown {
  try {
    return safe ? parseSafeJson(json) : JSON.parse(json);
  } catch {
    throw new KubeletError('invalid', 'NoJson', 'the server did not answer with JSON: is it a kubelet?');
  }
}

export function screenOf(output: CommandOutput): Screen {
  return { columns: output.columns(), colours: output.colours };
}
