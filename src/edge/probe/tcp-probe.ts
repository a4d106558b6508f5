// Probes a server by opening a connection. Upstream: pkg/probe/tcp. Invariant: settles by its timeout with the socket closed.
import { connect } from 'node:net';
import type { ProbeAnswer, TcpProbeRequest } from '../../api/ports/probe-requests.ts';
import { setDeadline } from '../../base/abort/set-deadline.ts';
import { realClock } from '../../base/clock.ts';
import { podLookup } from '../http-client/pod-lookup.ts';
import { dialText, joinHostPort } from './go-error.ts';

export function tcpProbe(request: TcpProbeRequest, signal: AbortSignal): Promise<ProbeAnswer> {
  const { host, port, timeoutMs } = request;
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const socket = connect({ host, port, lookup: podLookup });
    const settle = (end: () => void): void => {
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
      // Later errors are irrelevant, but without a listener they would be uncaught.
      socket.on('error', () => undefined);
      end();
    };
    const fail = (answer: Omit<ProbeAnswer, 'result'>): void =>
      settle(() => {
        socket.destroy();
        resolve({ result: 'failure', ...answer });
      });
    const onAbort = (): void =>
      settle(() => {
        socket.destroy();
        reject(signal.reason as Error);
      });
    const timer = setDeadline(realClock, timeoutMs, () =>
      fail({ output: `dial tcp ${joinHostPort(host, port)}: i/o timeout`, timedOut: true }),
    );
    signal.addEventListener('abort', onAbort, { once: true });
    socket.once('error', (err) => fail({ output: dialText(err, host, port) }));
    socket.once('connect', () =>
      settle(() => {
        // Closes in order, without waiting for the server to close its side.
        socket.end();
        socket.destroySoon();
        resolve({ result: 'success', output: '' });
      }),
    );
  });
}
