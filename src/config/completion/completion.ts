// The completion script of a shell. Pure.
import { bashCompletion } from './bash.ts';
import { fishCompletion } from './fish.ts';
import { zshCompletion } from './zsh.ts';

const scripts: Readonly<Record<string, () => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

/** Undefined for a shell without a script. */
export function completionScript(shell: string): string | undefined {
  return Object.hasOwn(scripts, shell) ? scripts[shell]?.() : undefined;
}
