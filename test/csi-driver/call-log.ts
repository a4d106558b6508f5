// The log of the calls: one JSON line per request, whole and with its secrets, and one per response. Only for tests.
import { appendFileSync } from 'node:fs';
import type { FaultOrder } from './faults.ts';

/** Bigints are strings. */
export interface RequestLine {
  readonly id: string;
  readonly pid: number;
  readonly atMs: number;
  readonly method: string;
  /** The remaining time that the client granted. */
  readonly timeoutMs?: number;
  readonly request: unknown;
  readonly fault?: FaultOrder;
}

export interface ResponseLine {
  /** The ID of the request. */
  readonly answers: string;
  readonly atMs: number;
  readonly code: string;
  readonly message?: string;
  readonly response?: unknown;
}

export class CallLog {
  readonly #path: string;
  #count = 0;

  constructor(path: string) {
    this.#path = path;
  }

  request(line: Omit<RequestLine, 'id' | 'pid' | 'atMs'>): string {
    this.#count += 1;
    const id = `${process.pid}.${this.#count}`;
    this.#append({ id, pid: process.pid, atMs: Date.now(), ...line });
    return id;
  }

  response(line: Omit<ResponseLine, 'atMs'>): void {
    this.#append({ ...line, atMs: Date.now() });
  }

  #append(line: object): void {
    const text = JSON.stringify(line, (_key, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    appendFileSync(this.#path, `${text}\n`);
  }
}
