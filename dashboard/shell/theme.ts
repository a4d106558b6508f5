// Light or dark: the system's choice, unless the viewer chose one, which this browser remembers.
import { forgetColours } from '../parts/spark.ts';

const key = 'kubelet-theme';
export const themes = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const prefersDark = matchMedia('(prefers-color-scheme: dark)');

export function chosenTheme(): Theme {
  const stored = localStorage.getItem(key);
  return themes.find((theme) => theme === stored) ?? 'auto';
}

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(key, theme);
  apply();
}

/** Called once; follows the system from then on. */
export function followTheme(): void {
  prefersDark.addEventListener('change', apply);
  apply();
}

function apply(): void {
  const theme = chosenTheme();
  document.documentElement.dataset['theme'] =
    theme === 'auto' ? (prefersDark.matches ? 'dark' : 'light') : theme;
  forgetColours();
  dispatchEvent(new Event(themeChanged));
}

export const themeChanged = 'kubelet-theme-changed';
