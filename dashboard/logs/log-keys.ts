// The keys of the log view. Never takes a key from a field or a dialog.
import { useEffect } from 'preact/hooks';

export interface LogActions {
  readonly follow: () => void;
  readonly search: () => void;
  readonly next: () => void;
  readonly previous: () => void;
  readonly wrap: () => void;
  readonly times: () => void;
  readonly end: () => void;
  readonly first: () => void;
}

const keys: Readonly<Record<string, keyof LogActions>> = {
  f: 'follow',
  '/': 'search',
  n: 'next',
  N: 'previous',
  w: 'wrap',
  t: 'times',
  G: 'end',
  'g g': 'first',
};
const pairTimeoutMs = 1_500;

export function useLogKeys(actions: LogActions): void {
  useEffect(() => {
    let pressedMs = 0;
    const listen = (event: KeyboardEvent): void => {
      const { altKey, ctrlKey, defaultPrevented, key, metaKey, target, timeStamp } = event;
      if (defaultPrevented || altKey || ctrlKey || metaKey || event.isComposing) return;
      if (target instanceof Element && target.closest('input, textarea, select, dialog, .xterm') !== null)
        return;
      const isPair = timeStamp - pressedMs < pairTimeoutMs;
      pressedMs = key === 'g' && !isPair ? timeStamp : 0;
      const action = keys[key === 'g' && isPair ? 'g g' : key];
      if (action === undefined) return;
      event.preventDefault();
      actions[action]();
    };
    // Before the keys of the page, which listen on the window.
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, [actions]);
}
