// The address bar: a token in it is taken at once and never stays; every other fragment is the route.
import type { Page } from '../data/page.ts';
import { parseRoute, type Route, tokenOf } from '../data/route.ts';

/** Removes a token from the address bar and the history, and keeps it for this tab only. */
export function takeToken(page: Page): void {
  const found = tokenOf(location.hash);
  if (found === undefined) return;
  history.replaceState(null, '', found.next);
  page.setToken(found.token);
}

export function currentRoute(): Route {
  return parseRoute(location.hash);
}

export function go(href: string, replaces: boolean): void {
  if (!href.startsWith('#/')) return;
  if (replaces) history.replaceState(null, '', href);
  else location.hash = href;
}
