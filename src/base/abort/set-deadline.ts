// A timer for answers from a socket. Node runs due timers before it reads sockets: after the event loop was blocked, a plain timer
// ends a call whose answer has already arrived. Invariant: whatever had arrived when the time was up is read before `onExpired`.
import type { Clock, Timer } from '../clock.ts';

/** Calls onExpired once, after ms and one more turn of the event loop; never after cancel(). */
export function setDeadline(clock: Pick<Clock, 'setTimer'>, ms: number, onExpired: () => void): Timer {
  let turn: NodeJS.Immediate | undefined;
  const timer = clock.setTimer(ms, () => {
    turn = setImmediate(onExpired);
  });
  return {
    cancel: () => {
      timer.cancel();
      clearImmediate(turn);
    },
  };
}
