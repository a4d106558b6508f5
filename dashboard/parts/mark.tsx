// A status as a shape, a colour and a word: the word is always beside the shape, which screen readers skip.
import { visible } from '../text/visible.ts';
import type { Tone } from './tone.ts';

const shapes: Readonly<Record<Tone, preact.JSX.Element>> = {
  good: <circle cx="6" cy="6" r="4.5" fill="currentColor" />,
  busy: (
    <>
      <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" stroke-width="1.5" />
      <path d="M6 2a4 4 0 0 1 0 8z" fill="currentColor" />
    </>
  ),
  bad: <path d="M6 .8 11.5 11H.5z" fill="currentColor" />,
  done: <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" stroke-width="1.5" />,
};

export function Mark({ tone }: { readonly tone: Tone }) {
  return (
    <svg class={`mark tone-${tone}`} viewBox="0 0 12 12" aria-hidden="true">
      {shapes[tone] ?? shapes.done}
    </svg>
  );
}

export function Status({
  text,
  tone,
  title,
}: {
  readonly text: string;
  readonly tone: Tone;
  readonly title?: string;
}) {
  return (
    <span class={`status tone-${tone}`} {...(title === undefined ? {} : { title })}>
      <Mark tone={tone} />
      <span>{visible(text)}</span>
    </span>
  );
}
