// The worker's side of DecodeWorker: takes pieces of work and answers each in parts, the next one only when the last
// has been taken over. Invariant: every piece of work is answered by an end or by a failure.
import type { MessagePort } from 'node:worker_threads';
import { describeError } from '../../base/errors.ts';

/** One word instead of another type per direction: `next` asks for the next part. */
type WorkerRequest = { readonly is: 'work'; readonly work: unknown } | { readonly is: 'next' };

export type WorkerAnswer =
  | { readonly is: 'part'; readonly part: unknown }
  | { readonly is: 'end' }
  | { readonly is: 'failure'; readonly message: string };

export function serveWork(
  port: Pick<MessagePort, 'on' | 'postMessage'>,
  run: (work: unknown) => Iterator<unknown>,
): void {
  let parts: Iterator<unknown> | undefined;
  const answer = (request: WorkerRequest): WorkerAnswer => {
    try {
      if (request.is === 'work') parts = run(request.work);
      const next = parts?.next();
      return next === undefined || next.done === true ? { is: 'end' } : { is: 'part', part: next.value };
    } catch (err) {
      return { is: 'failure', message: describeError(err) };
    }
  };
  port.on('message', (request: WorkerRequest) => port.postMessage(answer(request)));
}
