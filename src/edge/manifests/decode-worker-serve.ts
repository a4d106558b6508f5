// The worker's side of DecodeWorker: receives work and returns the result in parts, each when the client requests it.
// Invariant: every piece of work ends with `end` or `failure`.
import type { MessagePort } from 'node:worker_threads';
import { describeError } from '../../base/errors.ts';

/** `next` requests the next part. */
type WorkerRequest = { readonly is: 'work'; readonly work: unknown } | { readonly is: 'next' };

export type WorkerResponse =
  | { readonly is: 'part'; readonly part: unknown }
  | { readonly is: 'end' }
  | { readonly is: 'failure'; readonly message: string };

export function serveWork(
  port: Pick<MessagePort, 'on' | 'postMessage'>,
  run: (work: unknown) => Iterator<unknown>,
): void {
  let parts: Iterator<unknown> | undefined;
  const respond = (request: WorkerRequest): WorkerResponse => {
    try {
      if (request.is === 'work') parts = run(request.work);
      const next = parts?.next();
      return next === undefined || next.done === true ? { is: 'end' } : { is: 'part', part: next.value };
    } catch (err) {
      return { is: 'failure', message: describeError(err) };
    }
  };
  port.on('message', (request: WorkerRequest) => port.postMessage(respond(request)));
}
