// The merged logs of a pod's containers: follow, search, previous instances, download. The lines are drawn by log-lines.ts, outside of
// preact, since a megabyte per second may arrive.
import './log-view.css';
import { useEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks';
import type { ContainerView } from '../../src/api/ports/node-page.ts';
import { downloadLog } from './download.ts';
import { useLogKeys } from './log-keys.ts';
import { LogLines } from './log-lines.ts';
import { chosenContainers, withQuery } from './log-query.ts';
import { containerLogUrl, type LogChoice, LogSession } from './log-session.ts';
import { ContainerChips, type LogToggles, SearchBox, Toggle } from './log-toolbar.tsx';
import { WholeSearch } from './whole-search.tsx';

interface LogViewProps {
  readonly namespace: string;
  readonly name: string;
  readonly containers: readonly ContainerView[];
  readonly query: URLSearchParams;
  readonly onQuery: (next: URLSearchParams) => void;
}

/** The controls are drawn less often than the lines. */
const redrawMs = 200;

export function LogView({ containers, name, namespace, onQuery, query }: LogViewProps) {
  const chosen = chosenContainers(containers, query);
  const key = JSON.stringify([namespace, name, chosen, query.get('previous') === '1']);
  const choice = useMemo<LogChoice>(() => {
    const [namespace, pod, containers, previous] = JSON.parse(key) as [
      string,
      string,
      readonly string[],
      boolean,
    ];
    return { namespace, pod, containers, previous };
  }, [key]);
  const [toggles, setToggles] = useState<LogToggles>({ times: true, wrap: true, filters: false });
  const [current, setCurrent] = useState<number | undefined>(undefined);
  const [whole, setWhole] = useState<string | undefined>(undefined);
  const pattern = query.get('q') ?? '';
  const { lines, scroller, session } = useLines(choice, pattern, toggles, current);
  const input = useRef<HTMLInputElement>(null);

  const step = (by: 1 | -1): void => {
    const next = session?.step(current, by);
    if (next === undefined) return;
    setCurrent(next);
    lines.current?.scrollTo(next);
  };
  const toggle = (change: Partial<LogToggles>): void => setToggles((before) => ({ ...before, ...change }));
  const follow = (follows: boolean): void => session?.follow(follows);
  useLogKeys(
    useLatest({
      follow: () => follow(session?.follows !== true),
      search: () => input.current?.select(),
      next: () => step(1),
      previous: () => step(-1),
      wrap: () => setToggles((before) => ({ ...before, wrap: !before.wrap })),
      times: () => setToggles((before) => ({ ...before, times: !before.times })),
      end: () => follow(true),
      first: () => lines.current?.scrollToFirst(),
    }),
  );
  if (chosen.length === 0) return <p class="empty">The pod has no containers.</p>;
  return (
    <section
      class="log-view"
      role="log"
      aria-label="Logs"
      aria-live={session?.isFast === false && session.follows ? 'polite' : 'off'}
    >
      <div class="log-bar" aria-live="off">
        <ContainerChips
          containers={containers}
          chosen={chosen}
          onChoose={(names) => onQuery(withQuery(query, 'c', names.join(',')))}
        />
        <Toggle
          label="Follow"
          title="Stay at the end (f)"
          isOn={session?.follows ?? true}
          onToggle={follow}
        />
        <Toggle
          label="Previous"
          title="The containers before their last restart"
          isOn={choice.previous}
          disabled={!choice.previous && !containers.some(({ hasPrevious }) => hasPrevious)}
          onToggle={(isOn) => onQuery(withQuery(query, 'previous', isOn ? '1' : ''))}
        />
        <Toggle label="Times" title="UTC (t)" isOn={toggles.times} onToggle={(times) => toggle({ times })} />
        <Toggle
          label="Wrap"
          title="Wrap long lines (w)"
          isOn={toggles.wrap}
          onToggle={(wrap) => toggle({ wrap })}
        />
        <button
          type="button"
          class="button"
          title="The whole log of each chosen container"
          onClick={() =>
            choice.containers.forEach((each) =>
              downloadLog(containerLogUrl(choice, each), `${name}_${each}.log`),
            )
          }
        >
          Download
        </button>
        <SearchBox
          input={input}
          pattern={pattern}
          problem={session?.searcher.problem ?? ''}
          status={session?.matchText(current) ?? ''}
          filters={toggles.filters}
          onPattern={(next) => {
            setCurrent(undefined);
            onQuery(withQuery(query, 'q', next));
          }}
          onStep={step}
          onFilters={(filters) => toggle({ filters })}
          onWhole={() => setWhole(pattern)}
        />
      </div>
      {session !== undefined && <Notices session={session} />}
      <div class="log-body">
        {/* biome-ignore lint: a scrollable region must be reachable by keyboard */}
        <div
          ref={scroller}
          class={`log-scroll${toggles.wrap ? ' log-wrap' : ''}`}
          tabIndex={0}
          role="group"
          aria-label="Lines"
        />
        {session !== undefined && !session.follows && (
          <button type="button" class="log-resume" onClick={() => follow(true)}>
            {session.newText}
          </button>
        )}
      </div>
      {whole !== undefined && (
        <WholeSearch choice={choice} pattern={whole} onClose={() => setWhole(undefined)} />
      )}
    </section>
  );
}

function Notices({ session }: { readonly session: LogSession }) {
  const texts = session.notices();
  return (
    <div class="log-notices" role="status">
      {texts.map((text) => (
        <p key={text}>{text}</p>
      ))}
    </div>
  );
}

/** The session of the chosen containers, and the lines that it draws. */
function useLines(choice: LogChoice, pattern: string, toggles: LogToggles, current: number | undefined) {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const [session, setSession] = useState<LogSession | undefined>(undefined);
  const scroller = useRef<HTMLDivElement>(null);
  const lines = useRef<LogLines | undefined>(undefined);
  const { filters, times, wrap } = toggles;
  const names = choice.containers.length > 1 ? choice.containers : none;
  const options = { wrap, hasTimes: times, names, filters, current };
  useEffect(() => {
    if (scroller.current === null) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const made: LogSession = new LogSession(choice, () => {
      drawn.poke();
      timer ??= setTimeout(() => {
        timer = undefined;
        redraw(undefined);
      }, redrawMs);
    });
    const drawn = new LogLines(made, scroller.current, options);
    const observer = new ResizeObserver(() => drawn.resized());
    observer.observe(scroller.current);
    lines.current = drawn;
    setSession(made);
    made.start();
    return () => {
      clearTimeout(timer);
      observer.disconnect();
      drawn.stop();
      made.stop();
    };
  }, [choice]);
  useEffect(() => lines.current?.set(options), [session, wrap, times, filters, current]);
  useEffect(() => {
    const timer = setTimeout(() => session?.searcher.search(pattern), 150);
    return () => clearTimeout(timer);
  }, [session, pattern]);
  return { session, scroller, lines };
}

const none: readonly string[] = [];

/** An object that does not change, whose functions are those of the last call. */
function useLatest<T extends Readonly<Record<string, () => void>>>(functions: T): T {
  const latest = useRef(functions);
  latest.current = functions;
  return useMemo(
    () =>
      Object.fromEntries(Object.keys(functions).map((name) => [name, () => latest.current[name]?.()])) as T,
    [],
  );
}
