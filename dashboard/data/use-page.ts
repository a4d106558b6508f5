// Hooks on the page's data. A component is drawn again only when what it selected changed.
import { createContext } from 'preact';
import { useContext, useEffect, useLayoutEffect, useReducer, useRef } from 'preact/hooks';
import type { Page } from './page.ts';
import type { Route } from './route.ts';
import type { PageState } from './state.ts';

export interface PageEnvironment {
  readonly page: Page;
  readonly route: Route;
  readonly navigate: (href: string, replaces?: boolean) => void;
  /** Speaks to screen readers, and shows it for a moment. */
  readonly announce: (text: string) => void;
}

export const PageContext = createContext<PageEnvironment | undefined>(undefined);

export function usePage(): PageEnvironment {
  const environment = useContext(PageContext);
  if (environment === undefined) throw new Error('the component is not below PageContext');
  return environment;
}

function useRedraw(): () => void {
  const [, redraw] = useReducer((times: number) => times + 1, 0);
  return redraw as () => void;
}

/** `select` returns a part of the state; parts are compared by identity. */
export function useSelect<Part>(select: (state: PageState) => Part): Part {
  const { page } = usePage();
  const redraw = useRedraw();
  const part = select(page.state);
  const current = useRef({ part, select });
  current.current = { part, select };
  useLayoutEffect(() => {
    const check = () => {
      const { part, select } = current.current;
      if (!Object.is(select(page.state), part)) redraw();
    };
    check();
    return page.subscribe(check);
  }, [page, redraw]);
  return part;
}

/** The kubelet's time, once per period. */
export function useNow(periodMs = 1_000): number {
  const { page } = usePage();
  const redraw = useRedraw();
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') redraw();
    }, periodMs);
    return () => {
      clearInterval(timer);
    };
  }, [periodMs, redraw]);
  return page.nowMs();
}

/** Draws after every sample. */
export function useSamples(draw: () => void): void {
  const { page } = usePage();
  const latest = useRef(draw);
  latest.current = draw;
  useEffect(() => {
    latest.current();
    return page.onSample(() => {
      latest.current();
    });
  }, [page]);
}

/** Draws the component again after every sample. */
export function useEverySample(): void {
  useSamples(useRedraw());
}
