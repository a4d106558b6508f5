// Colours of a terminal by meaning. Pure.

export type Tone = 'good' | 'busy' | 'bad' | 'done' | 'heading';

/** Where the text goes. */
export interface Screen {
  /** Undefined: not a terminal, lines are not cut. */
  readonly columns: number | undefined;
  readonly colours: boolean;
}

const codes: Readonly<Record<Tone, string>> = {
  good: '32',
  busy: '33',
  bad: '31',
  done: '90',
  heading: '1',
};

export function paint(text: string, tone: Tone | undefined, { colours }: Pick<Screen, 'colours'>): string {
  return !colours || tone === undefined || text === '' ? text : `\u001b[${codes[tone]}m${text}\u001b[0m`;
}
