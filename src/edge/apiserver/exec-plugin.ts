// Runs an exec credential plugin (client.authentication.k8s.io). Upstream: client-go/plugin/pkg/client/auth/exec.
// Invariants: the plugin's output never reaches the log, and it does not outlive this process. The caller runs at most one
// instance of a plugin at a time.
import { execFile } from 'node:child_process';
import type { ExecPlugin } from '../../api/ports/cluster-access.ts';
import { KubeletError } from '../../base/errors.ts';
import { Secret } from '../../base/log/secret.ts';

export interface ExecCredential {
  readonly token: Secret | undefined;
  readonly certificate: { readonly cert: string; readonly key: Secret } | undefined;
  /** Undefined: valid until the server rejects it. */
  readonly expiresAtMs: number | undefined;
}

export interface ClusterInfo {
  readonly server: string;
  readonly 'tls-server-name'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'certificate-authority-data'?: string;
}

const maxRunMs = 60_000;
const maxOutputBytes = 1024 * 1024;

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
      timeout: maxRunMs,
      maxBuffer: maxOutputBytes,
      killSignal: 'SIGKILL',
    } as const;
    const kill = (): void => void child.kill('SIGKILL');
    const child = execFile(plugin.command, [...plugin.args], options, (err, stdout) => {
      process.off('exit', kill);
      if (err === null) resolve(stdout);
      else reject(failure(plugin, explain(err)));
    });
    process.on('exit', kill);
    child.stdin?.end();
  });
}

/** Node's own message would quote the command line and the plugin's output. */
function explain(
  err: Error & { code?: string | number | null | undefined; killed?: boolean | undefined },
): string {
  if (err.killed === true) return `it did not exit within ${maxRunMs} ms`;
  return typeof err.code === 'number' ? `it exited with code ${err.code}` : `it did not start (${err.code})`;
}

function failure(plugin: ExecPlugin, why: string): KubeletError {
  const hint = plugin.installHint === '' ? '' : `; ${plugin.installHint}`;
  const message = `getting credentials: exec plugin ${plugin.command}: ${why}${hint}`;
  return new KubeletError('unavailable', 'ExecPluginFailed', message);
}

function readCredential(output: string, plugin: ExecPlugin): ExecCredential {
  const parsed = parseObject(output);
  if (parsed?.['kind'] !== 'ExecCredential') throw failure(plugin, 'its output is not an ExecCredential');
  if (parsed['apiVersion'] !== plugin.apiVersion) {
    throw failure(plugin, `its output has apiVersion ${String(parsed['apiVersion'])}`);
  }
  const status = (parsed['status'] ?? {}) as Record<string, unknown>;
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = status;
  const certificate =
    typeof cert === 'string' && typeof key === 'string' ? { cert, key: new Secret(key) } : undefined;
  if (typeof token !== 'string' && certificate === undefined) {
    throw failure(plugin, 'its output has neither a token nor a certificate and key');
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
    // Not quoted: it may contain part of a credential.
    return undefined;
  }
}
