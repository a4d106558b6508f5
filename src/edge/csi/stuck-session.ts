// Finds an HTTP/2 session that has stopped because of an error that Node does not report. Its HTTP/2 library ends a session itself
// when, for example, a header of a response has more than 64 KiB: it neither reads nor sends from then on, and every call on the
// session would last until its deadline. Invariant: nothing but a session that cannot send is taken for stuck, so that a driver may
// take its time.
import type { ClientHttp2Session } from 'node:http2';

const checkMs = 500;

type CheckedSession = Pick<
  ClientHttp2Session,
  'closed' | 'destroyed' | 'pendingSettingsAck' | 'settings' | 'state'
> & { readonly socket: { readonly bytesWritten: number } };

/**
 * Calls onStuck once if the session is stuck. Returns the function that ends the checks. They send settings that change nothing,
 * since servers limit how often they are pinged.
 */
export function watchForStop(session: CheckedSession, onStuck: () => void): () => void {
  /** When the settings were submitted that are being checked. Frames that wait alone prove nothing: in a burst there always are some. */
  let writtenBefore: number | undefined;
  const timer = setInterval(() => {
    // A session that closes sends nothing more either, and waits for its calls.
    if (session.destroyed || session.closed) return clearInterval(timer);
    const { bytesWritten } = session.socket;
    if (bytesWritten === writtenBefore && (session.state.outboundQueueSize ?? 0) > 0) {
      clearInterval(timer);
      return onStuck();
    }
    // The answer does not matter: what counts is that they were sent. A driver that hangs does not answer the earlier ones.
    writtenBefore = session.pendingSettingsAck ? undefined : bytesWritten;
    if (!session.pendingSettingsAck) session.settings({ enablePush: false });
  }, checkMs);
  timer.unref();
  return () => clearInterval(timer);
}
