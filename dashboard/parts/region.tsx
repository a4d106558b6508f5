// A named region of a view: a landmark for screen readers, with its heading, and on the right what acts on it.
import type { ComponentChildren } from 'preact';
import { type Explained, explanations } from '../text/explanations.ts';

interface RegionProps {
  readonly name: string;
  readonly children: ComponentChildren;
  /** How many there are, beside the heading. */
  readonly count?: number;
  readonly explain?: Explained;
  readonly tools?: ComponentChildren;
  /** The heading is for screen readers only. */
  readonly isQuiet?: boolean;
  readonly className?: string;
}

export function Region({
  children,
  className = '',
  count,
  explain,
  isQuiet = false,
  name,
  tools,
}: RegionProps) {
  const id = `region-${name.toLowerCase().replaceAll(' ', '-')}`;
  return (
    <section class={`region ${className}`} aria-labelledby={id}>
      <div class={isQuiet ? 'region-head visually-hidden' : 'region-head'}>
        <h2 id={id} tabIndex={-1} {...(explain === undefined ? {} : { title: explanations[explain].text })}>
          {name}
        </h2>
        {count !== undefined && count > 0 && <span class="count">{count}</span>}
        {tools !== undefined && <div class="region-tools">{tools}</div>}
      </div>
      {children}
    </section>
  );
}
