// A client of server-sent events on the kubelet's secure port, which reads as fast as it is sent.
import type { ClientRequest } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import type { Kubelet } from '../rig/kubelet.ts';

interface StreamMessage {
  readonly event: string;
  readonly data: readonly string[];
}

export class EventStream {
  readonly messages: StreamMessage[] = [];
  bytes = 0;
  /** Of the newest message that has one. */
  lastId: string;
  status = 0;
  isEnded = false;
  readonly #request: ClientRequest;
  #rest = '';

  constructor({ securePort }: Pick<Kubelet, 'securePort'>, path: string, lastId = '') {
    this.lastId = lastId;
    const options: RequestOptions = {
      host: '127.0.0.1',
      port: securePort,
      path,
      rejectUnauthorized: false,
      agent: false,
      headers: lastId === '' ? {} : { 'last-event-id': lastId },
    };
    const end = (): void => {
      this.isEnded = true;
    };
    this.#request = httpsRequest(options, (response) => {
      this.status = response.statusCode ?? 0;
      response.setEncoding('utf8');
      response.on('data', (text: string) => this.#take(text));
      response.on('close', end);
      response.on('error', end);
    });
    this.#request.on('error', end);
    this.#request.end();
  }

  /** The data of all messages of this event, parsed. */
  all<T>(event: string): readonly T[] {
    return this.messages
      .filter((each) => each.event === event)
      .flatMap(({ data }) => data.map((text) => JSON.parse(text) as T));
  }

  close(): void {
    this.#request.destroy();
  }

  #take(text: string): void {
    this.bytes += Buffer.byteLength(text);
    const messages = (this.#rest + text).split('\n\n');
    this.#rest = messages.pop() ?? '';
    for (const message of messages) {
      const fields = message
        .split('\n')
        .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]);
      const of = (name: string): string[] =>
        fields.flatMap(([field, value = '']) => (field === name ? [value] : []));
      this.lastId = of('id')[0] ?? this.lastId;
      const data = of('data');
      if (data.length > 0) this.messages.push({ event: of('event')[0] ?? 'message', data });
    }
  }
}
