// The matches in the whole logs of the chosen containers.
import { useEffect, useReducer, useRef } from 'preact/hooks';
import { containerLogUrl, createSearchWorker, type LogChoice, storedToken } from './log-session.ts';
import { WholeScan } from './whole-scan.ts';

interface WholeSearchProps {
  readonly choice: LogChoice;
  readonly pattern: string;
  readonly onClose: () => void;
}

export function WholeSearch({ choice, onClose, pattern }: WholeSearchProps) {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const scan = useRef<WholeScan | undefined>(undefined);
  const key = JSON.stringify([choice, pattern]);
  useEffect(() => {
    const started = new WholeScan(pattern, choice.containers, {
      createWorker: createSearchWorker,
      urlOf: (container) => new URL(containerLogUrl(choice, container), document.baseURI).href,
      token: storedToken(),
      onChange: () => redraw(undefined),
    });
    scan.current = started;
    started.start();
    redraw(undefined);
    return () => started.stop();
    // biome-ignore lint: the key stands for choice and pattern
  }, [key]);
  const shown = scan.current;
  return (
    <section class="log-whole" aria-label="Matches in the whole log">
      <header>
        <span role="status">{shown === undefined ? '' : summary(shown)}</span>
        {shown?.isRunning === true && (
          <button
            type="button"
            class="button"
            onClick={() => {
              shown.stop();
              redraw(undefined);
            }}
          >
            Stop
          </button>
        )}
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
      </header>
      {shown !== undefined && shown.problem !== '' && <p class="log-problem">{shown.problem}</p>}
      <ol tabIndex={0} aria-label="Matches">
        {shown?.found.map(({ container, text, time }, index) => (
          <li key={index}>
            <time dateTime={time}>{time.slice(0, 23).replace('T', ' ')}</time>{' '}
            {choice.containers.length > 1 && <span class="log-name">{container} </span>}
            <span class="log-text">{text}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function summary({ bytes, found, isFull, isRunning }: WholeScan): string {
  const size = `${(bytes / 1e6).toFixed(1)} MB`;
  const count = found.length === 1 ? '1 match' : `${found.length} matches`;
  if (isFull) return `The first ${count} in ${size}`;
  return `${count} in ${size}${isRunning ? ', searching …' : ''}`;
}
