// Runs a credential provider plugin: request on its standard input, response on its standard output.
// Upstream: execPlugin in pkg/credentialprovider/plugin/plugin.go.
// Invariants: the plugin and its children are killed when the signal is aborted; its output is bounded; no error quotes its
// standard output, and its standard error is truncated and stripped of the request's secrets.
import { type ChildProcess, spawn } from 'node:child_process';
import { access, constants, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describeError, KubeletError } from '../../base/errors.ts';
import type { Secret } from '../../base/log/secret.ts';

export interface PluginProgram {
  readonly name: string;
  readonly args: readonly string[];
  /** Added to the kubelet's environment, and taking precedence over it. */
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly input: Secret;
}

const maxOutputBytes = 1 << 20;
const maxErrorText = 1024;

export class PluginPrograms {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Rejects if a plugin cannot be executed, with upstream's message. */
  async check(names: readonly string[]): Promise<void> {
    const found = await stat(this.#directory).catch(() => undefined);
    if (found?.isDirectory() !== true) {
      throw unusable(`plugin binary directory ${this.#directory} did not exist`);
    }
    for (const name of names) {
      const path = join(this.#directory, name);
      const file = await stat(path).catch(() => undefined);
      if (file?.isFile() !== true) throw unusable(`plugin binary executable ${path} did not exist`);
      await access(path, constants.X_OK).catch((cause: unknown) => {
        throw unusable(`error inspecting binary executable ${path}: ${describeError(cause)}`);
      });
    }
  }

  run(program: PluginProgram, signal: AbortSignal): Promise<string> {
    const { args, env, input, name } = program;
    const own = Object.fromEntries(env.map((variable) => [variable.name, variable.value]));
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      // In its own process group, so that its children are killed with it.
      const child = spawn(join(this.#directory, name), args, {
        env: { ...process.env, ...own },
        stdio: ['pipe', 'pipe', 'pipe'],
        detached: true,
      });
      const output = new Output(child);
      const end = (err: unknown): void => {
        killGroup(child);
        settle();
        reject(err instanceof Error ? err : new Error(String(err)));
      };
      const onAbort = (): void => end(signal.reason);
      const settle = (): void => {
        signal.removeEventListener('abort', onAbort);
        child.removeAllListeners();
        child.on('error', () => undefined);
        output.close();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      output.onTooMuch = () => end(failed(name, `it wrote more than ${maxOutputBytes} bytes`));
      child.on('error', (err) => end(failed(name, describeError(err))));
      child.on('close', (code, killedBy) => {
        const why = code === null ? `signal: ${killedBy}` : `exit status ${code}`;
        settle();
        if (code === 0) resolve(output.text());
        else reject(failed(name, `${why}${output.errorSuffix(input)}`));
      });
      // A plugin need not read its input.
      child.stdin.on('error', () => undefined);
      child.stdin.end(input.reveal());
    });
  }
}

/** The output of a plugin so far, up to the limit. */
class Output {
  onTooMuch: () => void = () => undefined;
  readonly #chunks: Buffer[] = [];
  readonly #child: ChildProcess;
  #bytes = 0;
  #errorText = '';

  constructor(child: ChildProcess) {
    this.#child = child;
    child.stdout?.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length;
      if (this.#bytes > maxOutputBytes) this.onTooMuch();
      else this.#chunks.push(chunk);
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      if (this.#errorText.length < maxErrorText) this.#errorText += text;
    });
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString('utf8');
  }

  errorSuffix(input: Secret): string {
    const text = withoutSecrets(this.#errorText, input).trim().slice(0, maxErrorText);
    return text === '' ? '' : `: ${text}`;
  }

  close(): void {
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) {
      stream?.removeAllListeners('data');
      stream?.on('error', () => undefined);
      stream?.destroy();
    }
  }
}

/** A plugin may echo its request; the token is masked. */
function withoutSecrets(text: string, input: Secret): string {
  const token = /"serviceAccountToken":"([^"]+)"/.exec(input.reveal())?.[1];
  return token === undefined ? text : text.replaceAll(token, '--- masked ---');
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The group has already exited.
  }
}

function failed(name: string, why: string): KubeletError {
  return new KubeletError(
    'internal',
    'CredentialProviderFailed',
    `error execing credential provider plugin ${name}: ${why}`,
  );
}

function unusable(message: string): KubeletError {
  return new KubeletError('invalid', 'CredentialProviderMissing', message);
}
