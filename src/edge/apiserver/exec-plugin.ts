// Asks a program for credentials, as client.authentication.k8s.io has it. Upstream: client-go/plugin/pkg/client/auth/exec.
// Invariants: one run at a time per plugin is the caller's to see to; what the program prints never reaches the log.
import { execFile } from 'node:child_process';
import type { ExecPlugin } from '../../api/ports/cluster-access.ts';
import { KubeletError } from '../../base/errors.ts';
import { Secret } from '../../base/log/secret.ts';

export interface ExecCredential {
  readonly token: Secret | undefined;
  readonly certificate: { readonly cert: string; readonly key: Secret } | undefined;
  /** Undefined: good until the server refuses it. */
  readonly expiresAtMs: number | undefined;
}

export interface ClusterInfo {
  readonly server: string;
  readonly 'tls-server-name'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'certificate-authority-data'?: string;
}

const longestRunMs = 60_000;
const longestOutputBytes = 1024 * 1024;

export async function runExecPlugin(plugin: ExecPlugin, cluster: ClusterInfo): Promise<ExecCredential> {
  const info = {
    apiVersion: plugin.apiVersion,
    kind: 'ExecCredential',
    spec: { ...(plugin.provideClusterInfo ? { cluster } : {}), interactive: false },
  };
  const env = { ...process.env, ...plugin.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) };
  const output = await run(plugin, env);
  return readCredential(output, plugin);
}

function run(plugin: ExecPlugin, env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = {
      env,
      timeout: longestRunMs,
      maxBuffer: longestOutputBytes,
      killSignal: 'SIGKILL',
    } as const;
    const child = execFile(plugin.command, [...plugin.args], options, (err, stdout) => {
      if (err === null) resolve(stdout);
      else reject(failure(plugin, explain(err)));
    });
    child.stdin?.end();
  });
}

/** Node's own message repeats the command line and what the program said. */
function explain(
  err: Error & { code?: string | number | null | undefined; killed?: boolean | undefined },
): string {
  if (err.killed === true) return `it did not end within ${longestRunMs} ms`;
  return typeof err.code === 'number' ? `it ended with ${err.code}` : `it did not start (${err.code})`;
}

function failure(plugin: ExecPlugin, why: string): KubeletError {
  const hint = plugin.installHint === '' ? '' : `; ${plugin.installHint}`;
  const message = `getting credentials: exec plugin ${plugin.command}: ${why}${hint}`;
  return new KubeletError('unavailable', 'ExecPluginFailed', message);
}

function readCredential(output: string, plugin: ExecPlugin): ExecCredential {
  const parsed = parseObject(output);
  if (parsed?.['kind'] !== 'ExecCredential') throw failure(plugin, 'what it printed is no ExecCredential');
  if (parsed['apiVersion'] !== plugin.apiVersion) {
    throw failure(plugin, `it answered in the version ${String(parsed['apiVersion'])}`);
  }
  const status = (parsed['status'] ?? {}) as Record<string, unknown>;
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = status;
  const certificate =
    typeof cert === 'string' && typeof key === 'string' ? { cert, key: new Secret(key) } : undefined;
  if (typeof token !== 'string' && certificate === undefined) {
    throw failure(plugin, 'it gave neither a token nor a certificate with its key');
  }
  const expiresAtMs = typeof expirationTimestamp === 'string' ? Date.parse(expirationTimestamp) : Number.NaN;
  return {
    token: typeof token === 'string' ? new Secret(token) : undefined,
    certificate,
    expiresAtMs: Number.isNaN(expiresAtMs) ? undefined : expiresAtMs,
  };
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    // Not to be quoted: it may be half a credential.
    return undefined;
  }
}
