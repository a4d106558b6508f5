// Parses server-sent events from text that arrives in pieces. The page reads them by fetch, because an EventSource cannot send a
// token and reads without a bound. Pure. Invariant: keeps at most one incomplete message, of at most maxMessageLength.

export interface ServerEvent {
  readonly event: string;
  /** The last id so far. */
  readonly id: string;
  readonly data: readonly string[];
}

const maxMessageLength = 4 * 1024 * 1024;

export class EventParser {
  #rest = '';
  #id: string;

  constructor(id = '') {
    this.#id = id;
  }

  push(piece: string): readonly ServerEvent[] {
    const messages = (this.#rest + piece).split('\n\n');
    this.#rest = messages.pop() ?? '';
    if (this.#rest.length > maxMessageLength) throw new Error('The kubelet sent a message without an end');
    return messages.flatMap((message) => this.#parse(message) ?? []);
  }

  #parse(message: string): ServerEvent | undefined {
    let event = 'message';
    const data: string[] = [];
    for (const line of message.split('\n')) {
      const at = line.indexOf(':');
      const name = at < 0 ? line : line.slice(0, at);
      const value = at < 0 ? '' : line.slice(line.charAt(at + 1) === ' ' ? at + 2 : at + 1);
      if (name === 'event') event = value;
      else if (name === 'data') data.push(value);
      else if (name === 'id') this.#id = value;
    }
    return data.length === 0 ? undefined : { event, id: this.#id, data };
  }
}
