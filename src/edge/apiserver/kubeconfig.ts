// Parses a kubeconfig: server, CA, user. Pure: text in, access out; paths are made absolute but not read.
// Upstream: client-go/tools/clientcmd. Invariant: errors name the field at fault and never contain a secret.
import { isAbsolute, join } from 'node:path';
import { parse } from 'yaml';
import type { ClusterAccess, ExecPlugin, Material } from '../../api/ports/cluster-access.ts';
import { KubeletError } from '../../base/errors.ts';
import { isObject } from '../../base/guards.ts';
import { Secret } from '../../base/log/secret.ts';

type Fields = Readonly<Record<string, unknown>>;

function invalid(why: string): KubeletError {
  return new KubeletError('invalid', 'InvalidKubeconfig', `the kubeconfig is not valid: ${why}`);
}

/** `directory`: that of the file; relative paths are resolved against it. */
export function parseKubeconfig(text: string, directory: string): ClusterAccess {
  const config = fieldsOf(parseYaml(text), 'the file');
  const kind = textOf(config, 'kind');
  if (kind !== undefined && kind !== 'Config') throw invalid(`its kind is ${kind}, not Config`);
  const current = textOf(config, 'current-context');
  if (current === undefined) throw invalid('it has no current-context');
  const context = named(config, 'contexts', current, 'context');
  const cluster = named(config, 'clusters', textOf(context, 'cluster') ?? '', 'cluster');
  const userName = textOf(context, 'user') ?? '';
  const user = userName === '' ? {} : named(config, 'users', userName, 'user');
  return { ...clusterOf(cluster, directory), ...userOf(user, directory) };
}

function parseYaml(text: string): unknown {
  try {
    return parse(text);
  } catch {
    // The parser's message quotes the line, which may contain a key.
    throw invalid('it is neither YAML nor JSON');
  }
}

type ClusterPart = Pick<
  ClusterAccess,
  'server' | 'ca' | 'insecureSkipTlsVerify' | 'tlsServerName' | 'proxyUrl'
>;

function clusterOf(cluster: Fields, directory: string): ClusterPart {
  const insecureSkipTlsVerify = cluster['insecure-skip-tls-verify'] === true;
  const ca = materialOf(cluster, 'certificate-authority', directory);
  if (insecureSkipTlsVerify && ca !== undefined) {
    throw invalid('certificate-authority and insecure-skip-tls-verify are mutually exclusive');
  }
  const proxy = textOf(cluster, 'proxy-url');
  return {
    server: urlOf(textOf(cluster, 'server') ?? '', 'server', ['http:', 'https:']),
    ca,
    insecureSkipTlsVerify,
    tlsServerName: textOf(cluster, 'tls-server-name'),
    proxyUrl: proxy === undefined ? undefined : urlOf(proxy, 'proxy-url', ['http:', 'https:']),
  };
}

function userOf(user: Fields, directory: string): Omit<ClusterAccess, keyof ClusterPart> {
  const cert = materialOf(user, 'client-certificate', directory);
  const key = materialOf(user, 'client-key', directory);
  if ((cert === undefined) !== (key === undefined)) {
    throw invalid('client-certificate and client-key must be set together');
  }
  const token = textOf(user, 'token');
  const tokenFile = textOf(user, 'tokenFile');
  const username = textOf(user, 'username');
  const basic = username === undefined ? undefined : `${username}:${textOf(user, 'password') ?? ''}`;
  return {
    clientCertificate: cert === undefined || key === undefined ? undefined : { cert, key },
    token: token === undefined ? undefined : new Secret(token),
    tokenFile: tokenFile === undefined ? undefined : pathOf(tokenFile, directory),
    basic: basic === undefined ? undefined : new Secret(Buffer.from(basic).toString('base64')),
    exec: user['exec'] === undefined || user['exec'] === null ? undefined : execOf(user['exec'], directory),
    impersonate: impersonateOf(user),
  };
}

function impersonateOf(user: Fields): ClusterAccess['impersonate'] {
  const as = textOf(user, 'as');
  const groups = user['as-groups'];
  return as === undefined
    ? undefined
    : { user: as, groups: Array.isArray(groups) ? groups.map((group) => String(group)) : [] };
}

const execVersions = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];

function execOf(value: unknown, directory: string): ExecPlugin {
  const exec = fieldsOf(value, 'exec');
  const apiVersion = textOf(exec, 'apiVersion') ?? '';
  if (!execVersions.includes(apiVersion))
    throw invalid(`exec has the unsupported apiVersion ${JSON.stringify(apiVersion)}`);
  const command = textOf(exec, 'command');
  if (command === undefined) throw invalid('exec has no command');
  if (textOf(exec, 'interactiveMode') === 'Always') {
    throw invalid(
      `exec: ${command} needs a terminal (interactiveMode Always), which a kubelet does not have`,
    );
  }
  const args = exec['args'] ?? [];
  const env = exec['env'] ?? [];
  if (!Array.isArray(args) || !Array.isArray(env)) throw invalid('exec: args and env must be lists');
  return {
    apiVersion,
    command: command.includes('/') ? pathOf(command, directory) : command,
    args: args.map((arg) => String(arg)),
    env: Object.fromEntries(
      env.map((each) => [
        textOf(fieldsOf(each, 'exec.env'), 'name') ?? '',
        textOf(fieldsOf(each, 'exec.env'), 'value') ?? '',
      ]),
    ),
    installHint: textOf(exec, 'installHint') ?? '',
    provideClusterInfo: exec['provideClusterInfo'] === true,
  };
}

/** `x-data` in base64 wins over the file `x`. */
function materialOf(fields: Fields, name: string, directory: string): Material | undefined {
  const data = textOf(fields, `${name}-data`);
  if (data !== undefined) return { pem: new Secret(Buffer.from(data, 'base64').toString('utf8')) };
  const file = textOf(fields, name);
  return file === undefined ? undefined : { file: pathOf(file, directory) };
}

function pathOf(path: string, directory: string): string {
  return isAbsolute(path) ? path : join(directory, path);
}

function urlOf(text: string, field: string, protocols: readonly string[]): URL {
  // kubectl accepts a bare host, too.
  const full = /^[a-z0-9]+:\/\//i.test(text) ? text : `https://${text}`;
  if (text === '' || !URL.canParse(full)) throw invalid(`${field} is not a URL`);
  const url = new URL(full);
  if (!protocols.includes(url.protocol))
    throw invalid(`${field} has the unsupported protocol ${url.protocol}`);
  return url;
}

/** The entry of that name in a list of `{ name, <key>: … }`. */
function named(config: Fields, list: string, name: string, key: string): Fields {
  const entries = config[list];
  const found = Array.isArray(entries)
    ? entries.find(
        (entry) => typeof entry === 'object' && entry !== null && (entry as Fields)['name'] === name,
      )
    : undefined;
  if (found === undefined) throw invalid(`it has no ${key} ${JSON.stringify(name)}`);
  return fieldsOf((found as Fields)[key] ?? {}, `${key} ${name}`);
}

function fieldsOf(value: unknown, what: string): Fields {
  if (!isObject(value)) throw invalid(`${what} is not an object`);
  return value;
}

function textOf(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
