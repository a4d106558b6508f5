// Carries out the page's keys. Never takes a key from a field, a dialog or the terminal.
import { useEffect, useRef } from 'preact/hooks';
import { parentHref, parseRoute, podHref, type Route, viewHref } from '../data/route.ts';
import { type KeyAction, readKey } from './keys.ts';
import { currentRoute } from './location.ts';

interface KeyTargets {
  readonly route: Route;
  readonly navigate: (href: string) => void;
  readonly openHelp: () => void;
  readonly copy: () => void;
}

const pairTimeoutMs = 1_500;

export function useKeys(targets: KeyTargets): void {
  const lastPodHref = useRef<string | undefined>(undefined);
  if (targets.route.view === 'pod') lastPodHref.current = podHref(targets.route);
  useEffect(() => {
    let pending = '';
    let pressedMs = 0;
    const listen = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing) return;
      const { target } = event;
      if (target instanceof Element && isTaken(target, event)) return;
      const isLate = event.timeStamp - pressedMs > pairTimeoutMs;
      const read = readKey(isLate ? '' : pending, event);
      pending = read.pending;
      pressedMs = event.timeStamp;
      // The address is ahead of what is drawn, if keys are typed quickly.
      const now = { ...targets, route: currentRoute() };
      if (read.action !== undefined && act(read.action, now, lastPodHref.current)) event.preventDefault();
    };
    addEventListener('keydown', listen);
    return () => {
      removeEventListener('keydown', listen);
    };
  }, [targets]);
}

const fields = 'input, textarea, select, [contenteditable], .xterm, dialog, [role="log"]';

function isTaken(target: Element, event: KeyboardEvent): boolean {
  const field = target.closest(fields);
  if (field === null) return false;
  // Escape leaves a search field; everything else belongs to the field.
  if (event.key === 'Escape' && field instanceof HTMLInputElement) field.blur();
  return !field.matches('[role="log"]') || event.key.startsWith('Arrow');
}

/** True if the key had an effect here. */
function act(action: KeyAction, targets: KeyTargets, lastPodHref: string | undefined): boolean {
  const { copy, navigate, openHelp, route } = targets;
  switch (action) {
    case 'filter':
      return focusOn(document.querySelector('main input[type="search"]'));
    case 'next':
    case 'previous':
    case 'first':
    case 'last':
      return moveRow(action, lastPodHref);
    case 'pods':
    case 'eviction':
    case 'health':
      navigate(viewHref(action));
      return true;
    case 'logs':
    case 'shell': {
      const pod = podInView(route);
      if (pod?.view === 'pod') navigate(podHref(pod, action));
      return pod?.view === 'pod';
    }
    case 'copy':
      copy();
      return true;
    case 'help':
      openHelp();
      return true;
    case 'back': {
      const href = parentHref(route);
      if (href !== undefined) navigate(href);
      return href !== undefined;
    }
  }
}

/** The pod of the view, or of the row that has the focus. */
function podInView(route: Route): Route | undefined {
  if (route.view === 'pod') return route;
  const link = document.activeElement?.closest('[data-row-link]');
  return link instanceof HTMLAnchorElement ? parseRoute(link.hash) : undefined;
}

function focusOn(element: Element | null | undefined): boolean {
  if (!(element instanceof HTMLElement)) return false;
  element.focus();
  if (element instanceof HTMLInputElement) element.select();
  else element.scrollIntoView({ block: 'nearest' });
  return true;
}

/** Begins at the row of the pod that was in view before. */
function moveRow(action: 'next' | 'previous' | 'first' | 'last', lastPodHref: string | undefined): boolean {
  const links = Array.from(document.querySelectorAll('main [data-row-link]'));
  const at = links.findIndex((link) => link === document.activeElement);
  const left = links.find((link) => link.getAttribute('href') === lastPodHref);
  if (at < 0 && left !== undefined && action !== 'first' && action !== 'last') return focusOn(left);
  const next = {
    next: Math.min(at + 1, links.length - 1),
    previous: Math.max(at - 1, 0),
    first: 0,
    last: links.length - 1,
  }[action];
  return focusOn(links[next]);
}
