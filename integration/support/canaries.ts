// Canary values: planted as secrets, then searched for in everything that a kubelet outputs.
import { randomBytes } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Leak {
  readonly canary: string;
  readonly place: string;
}

export class Canaries {
  readonly #values = new Map<string, readonly string[]>();

  /** A new value of 24 characters, valid as a token, a password or a name. */
  plant(name: string): string {
    const value = `canary${randomBytes(9).toString('hex')}`;
    this.add(name, value);
    return value;
  }

  /** Adds an existing value. It is searched for verbatim, in base64, URL-encoded and as a password in basic auth. */
  add(name: string, value: string, ...others: readonly string[]): void {
    const forms = [value, ...others].flatMap((text) => [text, Buffer.from(text).toString('base64')]);
    this.#values.set(name, [...new Set([...forms, encodeURIComponent(value)])]);
  }

  /** `except`: names of canaries that may appear in this place. */
  search(place: string, text: string, except: readonly string[] = []): readonly Leak[] {
    return [...this.#values].flatMap(([canary, forms]) =>
      !except.includes(canary) && forms.some((form) => text.includes(form)) ? [{ canary, place }] : [],
    );
  }

  /** Searches all files below a directory, except for allowed ones. */
  searchFiles(directory: string, isAllowed: (path: string) => boolean): readonly Leak[] {
    return readdirSync(directory).flatMap((name) => {
      const path = join(directory, name);
      if (isAllowed(path)) return [];
      const stats = lstatSync(path, { throwIfNoEntry: false });
      if (stats?.isDirectory() === true) return this.searchFiles(path, isAllowed);
      return stats?.isFile() === true ? this.search(path, readFileSync(path, 'latin1')) : [];
    });
  }
}
