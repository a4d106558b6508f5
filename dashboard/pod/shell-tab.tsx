// A shell in one of the pod's containers. The terminal is loaded when it is first opened.
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ContainerView } from '../../src/api/ports/node-page.ts';
import { routeHref } from '../data/route.ts';
import { usePage, useSelect } from '../data/use-page.ts';
import { visible } from '../text/visible.ts';
import type { PodRoute } from './pod-view.tsx';

interface ShellTabProps {
  readonly route: PodRoute;
  readonly containers: readonly ContainerView[];
}

interface TerminalProps {
  readonly namespace: string;
  readonly name: string;
  readonly container: string;
  readonly token: string | undefined;
}

export function ShellTab({ containers, route }: ShellTabProps) {
  const { navigate, page } = usePage();
  const mayExec = useSelect((state) => state.access.exec);
  const Terminal = useTerminal(mayExec);
  const chosen = route.query.get('c');
  const container =
    containers.find(({ name }) => name === chosen) ??
    containers.find(({ role, tone }) => role === 'regular' && tone === 'good') ??
    containers.find(({ role }) => role === 'regular');
  if (container === undefined) return <p class="empty">The pod has no container to open a shell in.</p>;
  return (
    <div class="shell-tab">
      <label class="shell-choice">
        Container{' '}
        <select
          class="field"
          value={container.name}
          onChange={(event) => {
            const query = new URLSearchParams({ c: event.currentTarget.value });
            navigate(routeHref({ ...route, query }), true);
          }}
        >
          {containers.map(({ name, role }) => (
            <option key={`${role}/${name}`} value={name}>
              {visible(name)}
            </option>
          ))}
        </select>
      </label>
      {!mayExec ? (
        <p class="notice">
          You may read, but not open a shell. Choose <strong>Read-only</strong> in the header to enter a token
          that may.
        </p>
      ) : Terminal === undefined ? (
        <p class="empty">Loading the terminal …</p>
      ) : Terminal === null ? (
        <p class="empty">The terminal could not be loaded. Reload the page.</p>
      ) : (
        <Terminal
          key={`${container.name}/${page.token ?? ''}`}
          namespace={route.namespace}
          name={route.name}
          container={container.name}
          token={page.token}
        />
      )}
    </div>
  );
}

/** Undefined while it loads, null if that failed. */
function useTerminal(isWanted: boolean): ComponentType<TerminalProps> | null | undefined {
  const [loaded, setLoaded] = useState<{ readonly view: ComponentType<TerminalProps> | null } | undefined>(
    undefined,
  );
  useEffect(() => {
    if (!isWanted) return undefined;
    let isShown = true;
    const load = async () => {
      const view = await loadTerminal();
      if (isShown) setLoaded({ view });
    };
    void load();
    return () => {
      isShown = false;
    };
  }, [isWanted]);
  return loaded?.view;
}

async function loadTerminal(): Promise<ComponentType<TerminalProps> | null> {
  try {
    return (await import('../terminal/terminal-view.tsx')).default;
  } catch {
    return null;
  }
}
