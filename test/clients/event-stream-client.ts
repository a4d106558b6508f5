// A viewer of the node's page: parses server-sent events as the HTML standard defines them, and keeps the level of each as the page does.
import { expect } from 'vitest';
import type { HttpAnswer } from '../../src/api/ports/http.ts';
import type { PodRow, StreamEvents } from '../../src/api/ports/node-page.ts';

type Name = keyof StreamEvents;

interface ParsedEvent {
  readonly name: string;
  readonly data: unknown;
}

export class EventStreamClient {
  readonly events: ParsedEvent[] = [];
  /** Comment lines. */
  comments = 0;
  retryMs: number | undefined;
  bytes = 0;
  hasEnded = false;
  readonly rows = new Map<string, PodRow>();
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #rest = '';
  #name = '';
  #data: string[] = [];
  #isReading = false;

  constructor(answer: HttpAnswer) {
    if (!('body' in answer) || typeof answer.body !== 'object' || answer.body instanceof Uint8Array)
      throw new Error(`not a stream: ${JSON.stringify(answer)}`);
    expect(answer.status).toBe(200);
    this.#chunks = answer.body[Symbol.asyncIterator]();
  }

  /** Reads from now on until stopReading() or the end. */
  read(): this {
    if (!this.#isReading) {
      this.#isReading = true;
      void this.#pull();
    }
    return this;
  }

  /** After the read in progress. */
  stopReading(): void {
    this.#isReading = false;
  }

  async disconnect(): Promise<void> {
    this.stopReading();
    await this.#chunks.return?.();
  }

  /** One message; undefined at the end. */
  async readOne(): Promise<Uint8Array | undefined> {
    const next = await this.#chunks.next();
    if (next.done === true) {
      this.hasEnded = true;
      return undefined;
    }
    this.feed(next.value);
    return next.value;
  }

  names(): readonly string[] {
    return this.events.map(({ name }) => name);
  }

  all<N extends Name>(name: N): readonly StreamEvents[N][] {
    return this.events.filter((each) => each.name === name).map(({ data }) => data as StreamEvents[N]);
  }

  latest<N extends Name>(name: N): StreamEvents[N] {
    const found = this.all(name).at(-1);
    if (found === undefined) throw new Error(`no event ${name} in ${this.names().join(', ')}`);
    return found;
  }

  feed(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    this.#rest += this.#decoder.decode(chunk, { stream: true });
    const lines = this.#rest.split(/\r\n|\n|\r/);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#line(line);
  }

  async #pull(): Promise<void> {
    while (this.#isReading && (await this.readOne()) !== undefined);
  }

  #line(line: string): void {
    if (line === '') this.#dispatch();
    else if (line.startsWith(':')) this.comments++;
    else {
      const [field = '', ...rest] = line.split(':');
      const value = rest.join(':').replace(/^ /, '');
      if (field === 'event') this.#name = value;
      else if (field === 'data') this.#data.push(value);
      else if (field === 'retry') this.retryMs = Number(value);
      else throw new Error(`unknown field in ${JSON.stringify(line.slice(0, 200))}`);
    }
  }

  #dispatch(): void {
    if (this.#data.length > 0) {
      const data: unknown = JSON.parse(this.#data.join('\n'));
      this.events.push({ name: this.#name, data });
      if (this.#name === 'pods') this.#apply(data as StreamEvents['pods']);
    }
    this.#name = '';
    this.#data = [];
  }

  #apply({ all, gone, rows }: StreamEvents['pods']): void {
    if (all) this.rows.clear();
    for (const uid of gone) this.rows.delete(uid);
    for (const row of rows) this.rows.set(row.uid, row);
  }
}
