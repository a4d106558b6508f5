// A socket whose peer hangs up while it is written to has the peer's last words still unread. Node closes such a socket at the
// failed write and throws them away. Upstream reads and writes in two threads of their own.
import type { Duplex } from 'node:stream';

type Done = (err?: Error | null) => void;

/**
 * From now on a write that fails closes nothing: it and those after it go nowhere, and what has arrived can be read until
 * the end, which tells that the peer has gone.
 */
export function keepReading(socket: Duplex): void {
  let deaf = false;
  const hushed =
    (done: Done): Done =>
    (err) => {
      deaf ||= err instanceof Error;
      done();
    };
  const write = socket._write.bind(socket);
  socket._write = (chunk, encoding, done) => {
    if (deaf) done();
    else write(chunk, encoding, hushed(done));
  };
  const writev = socket._writev?.bind(socket);
  if (writev === undefined) return;
  socket._writev = (chunks, done) => {
    if (deaf) done();
    else writev(chunks, hushed(done));
  };
}
