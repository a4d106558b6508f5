// The token that allows acting on the loopback port of the node's page: the file dashboard-token in the root directory, which only root
// can read. Kept over restarts, so that an open page stays valid. Upstream has no counterpart.
import { createHash, timingSafeEqual } from 'node:crypto';
import { untilAborted } from '../../base/abort/race-abort.ts';
import type { Component } from '../../base/component.ts';
import type { Logger } from '../../base/log/log.ts';

interface DashboardTokenDeps {
  readonly path: string;
  readonly files: {
    /** Undefined if it does not exist. */
    read(path: string, limitBytes: number): Promise<string | undefined>;
    /** Replaces the file atomically; only its owner can read it. */
    write(path: string, text: string): Promise<void>;
  };
  readonly randomBytes: (count: number) => Uint8Array;
  readonly log: Logger;
}

const tokenBytes = 32;
const limitBytes = 4096;
/** An administrator may have chosen a longer one. */
const format = /^[A-Za-z0-9_-]{43,256}$/;

export class DashboardToken implements Component {
  readonly name = 'dashboard-token';
  readonly #deps: DashboardTokenDeps;
  #digest: Uint8Array | undefined;

  constructor(deps: DashboardTokenDeps) {
    this.#deps = deps;
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { files, log, path, randomBytes } = this.#deps;
    const token = (await this.#read()) ?? Buffer.from(randomBytes(tokenBytes)).toString('base64url');
    this.#digest = digestOf(token);
    try {
      // Also if it is not new: others may have been able to read the old file.
      await files.write(path, token);
    } catch (err) {
      log.error('Failed to write the token of the dashboard', { path, err });
    }
    return { stopped: untilAborted(signal) };
  }

  /** In constant time. */
  matches(text: string): boolean {
    return this.#digest !== undefined && timingSafeEqual(this.#digest, digestOf(text));
  }

  async #read(): Promise<string | undefined> {
    const { files, log, path } = this.#deps;
    try {
      const text = (await files.read(path, limitBytes))?.trim();
      if (text === undefined || format.test(text)) return text;
      log.warn('The token of the dashboard is invalid and is replaced', { path });
    } catch (err) {
      log.warn('Failed to read the token of the dashboard, it is replaced', { path, err });
    }
    return undefined;
  }
}

function digestOf(text: string): Uint8Array {
  return createHash('sha256').update(text).digest();
}
