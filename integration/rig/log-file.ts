// The log file of another process; waits for lines by file events.
import { existsSync, readFileSync, watch } from 'node:fs';
import { waitFor } from './wait.ts';

export class LogFile {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  text(): string {
    return existsSync(this.path) ? readFileSync(this.path, 'utf8') : '';
  }

  lines(): readonly string[] {
    return this.text()
      .split('\n')
      .filter((line) => line !== '');
  }

  /** The current length, to search for later lines from here. */
  get end(): number {
    return this.text().length;
  }

  matching(pattern: RegExp, from = 0): readonly string[] {
    return this.text()
      .slice(from)
      .split('\n')
      .filter((line) => pattern.test(line));
  }

  /** Waits for the first matching line from character `from` on. */
  async waitForLine(
    pattern: RegExp,
    options: { readonly timeoutMs?: number; readonly from?: number } = {},
  ): Promise<string> {
    const { timeoutMs = 30_000, from = 0 } = options;
    await waitFor(() => existsSync(this.path), `${this.path} to appear`, timeoutMs);
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        watcher.close();
      };
      const look = (): void => {
        const [line] = this.matching(pattern, from);
        if (line === undefined) return;
        end();
        resolve(line);
      };
      const watcher = watch(this.path, look);
      const timer = setTimeout(() => {
        end();
        const last = this.lines().slice(-5).join('\n');
        reject(
          new Error(
            `timed out after ${timeoutMs} ms waiting for a line like ${pattern}; the last lines are:\n${last}`,
          ),
        );
      }, timeoutMs);
      look();
    });
  }
}
