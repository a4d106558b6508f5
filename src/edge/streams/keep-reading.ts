// Keeps a socket readable after a failed write: the peer may have sent its final bytes before it closed. Node closes such a
// socket at the failed write and discards them. Upstream reads and writes in separate goroutines.
import type { Duplex } from 'node:stream';

type Done = (err?: Error | null) => void;

/**
 * From now on a failed write does not close the socket: it and later writes are discarded, and received bytes can be read
 * until the end of the stream.
 */
export function keepReading(socket: Duplex): void {
  let isBroken = false;
  const ignoringErrors =
    (done: Done): Done =>
    (err) => {
      isBroken ||= err instanceof Error;
      done();
    };
  const write = socket._write.bind(socket);
  socket._write = (chunk, encoding, done) => {
    if (isBroken) done();
    else write(chunk, encoding, ignoringErrors(done));
  };
  const writev = socket._writev?.bind(socket);
  if (writev === undefined) return;
  socket._writev = (chunks, done) => {
    if (isBroken) done();
    else writev(chunks, ignoringErrors(done));
  };
}
