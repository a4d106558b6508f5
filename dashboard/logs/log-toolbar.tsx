// The controls above the lines of a log.
import type { RefObject } from 'preact';
import type { ContainerView } from '../../src/api/ports/node-page.ts';
import { coloursOfContainers } from './log-row.ts';

export interface LogToggles {
  readonly times: boolean;
  readonly wrap: boolean;
  readonly filters: boolean;
}

interface ContainerChipsProps {
  readonly containers: readonly ContainerView[];
  readonly chosen: readonly string[];
  readonly onChoose: (chosen: readonly string[]) => void;
}

/** The colour of a container is that of its place among the chosen ones, as in the lines. */
export function ContainerChips({ chosen, containers, onChoose }: ContainerChipsProps) {
  const toggle = (name: string): void => {
    const isChosen = chosen.includes(name);
    if (isChosen && chosen.length === 1) return;
    const next = containers
      .map((each) => each.name)
      .filter((each) => (each === name) !== chosen.includes(each));
    onChoose(next);
  };
  return (
    <div class="log-chips" role="group" aria-label="Containers">
      {containers.map(({ name, state, tone }) => {
        const place = chosen.indexOf(name);
        const colour = place < 0 ? '' : ` log-c${place % coloursOfContainers}`;
        return (
          <button
            key={name}
            type="button"
            class={`log-chip${colour}`}
            aria-pressed={place >= 0}
            title={`${name}: ${state}. Double-click for this container alone.`}
            data-tone={tone}
            onClick={() => toggle(name)}
            onDblClick={() => onChoose([name])}
          >
            {name}
          </button>
        );
      })}
    </div>
  );
}

interface SearchBoxProps {
  readonly input: RefObject<HTMLInputElement | null>;
  readonly pattern: string;
  readonly status: string;
  readonly problem: string;
  readonly filters: boolean;
  readonly onPattern: (pattern: string) => void;
  readonly onStep: (step: 1 | -1) => void;
  readonly onFilters: (filters: boolean) => void;
  readonly onWhole: () => void;
}

export function SearchBox(props: SearchBoxProps) {
  const { filters, input, onFilters, onPattern, onStep, onWhole, pattern, problem, status } = props;
  return (
    <div class="log-search" role="search">
      <input
        ref={input}
        type="search"
        class="field"
        aria-label="Search logs"
        placeholder="Search (regular expression)"
        title="A regular expression. Capital letters make it case-sensitive. Enter: next match, Shift+Enter: previous."
        spellcheck={false}
        autocomplete="off"
        value={pattern}
        aria-invalid={problem !== ''}
        onInput={(event) => onPattern(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          onStep(event.shiftKey ? -1 : 1);
        }}
      />
      <button
        type="button"
        class="button"
        disabled={pattern === ''}
        aria-label="Earlier match"
        onClick={() => onStep(-1)}
      >
        ↑
      </button>
      <button
        type="button"
        class="button"
        disabled={pattern === ''}
        aria-label="Later match"
        onClick={() => onStep(1)}
      >
        ↓
      </button>
      <Toggle label="Only matches" isOn={filters} onToggle={onFilters} />
      <button type="button" class="button" disabled={pattern === '' || problem !== ''} onClick={onWhole}>
        Search the whole log
      </button>
      <span role="status" class={problem === '' ? 'log-count' : 'log-problem'}>
        {problem === '' ? status : problem}
      </span>
    </div>
  );
}

interface ToggleProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly title?: string;
  readonly onToggle: (isOn: boolean) => void;
  readonly disabled?: boolean;
}

export function Toggle({ disabled = false, isOn, label, onToggle, title }: ToggleProps) {
  return (
    <label class="log-toggle" title={title}>
      <input
        type="checkbox"
        checked={isOn}
        disabled={disabled}
        onChange={(event) => onToggle(event.currentTarget.checked)}
      />
      {label}
    </label>
  );
}
