// Gives memory that nobody uses back to the machine. V8 keeps what a burst took until the next full collection, which a
// process with little to do may never come to.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

let collect: (() => void) | undefined;

/** Takes some tens of milliseconds: for moments in which nothing is going on. */
export function giveBackMemory(): void {
  collect ??= exposed();
  collect();
}

/** The collector is there for who asks for it by a flag, which counts from then on for new contexts. */
function exposed(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
