// A timer for responses from a socket. Node runs due timers before it reads sockets, so after the event loop was blocked a
// plain timer would time out a call whose response has already arrived.
// Invariant: data that had arrived when the timer was due is read before `onExpired`.
import type { Clock, Timer } from '../clock.ts';

/** Calls onExpired once, one turn of the event loop after the timer is due; never after cancel(). */
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
