// The header: which node, the views, the connection, and what is the same in every view.
import { useState } from 'preact/hooks';
import { viewHref } from '../data/route.ts';
import type { Connection } from '../data/state.ts';
import { usePage, useSelect } from '../data/use-page.ts';
import { Icon } from '../parts/icon.tsx';
import { Name } from '../parts/name.tsx';
import { Ago } from '../parts/when.tsx';
import { visible } from '../text/visible.ts';
import { chooseTheme, chosenTheme, type Theme, themes } from './theme.ts';

interface HeaderProps {
  readonly onCopy: () => void;
  readonly onHelp: () => void;
  readonly onToken: () => void;
}

export function Header({ onCopy, onHelp, onToken }: HeaderProps) {
  const hello = useSelect((state) => state.hello);
  return (
    <header class="header">
      <div class="brand">
        <Icon name="node" />
        <span class="brand-name">
          {hello === undefined ? 'kubelet' : <Name text={hello.nodeName} longest={32} />}
        </span>
        {hello !== undefined && (
          <span class="brand-version" title="Version of the kubelet, and how long this process runs">
            {visible(hello.version)} · up <Ago atMs={hello.startedAtMs} />
          </span>
        )}
      </div>
      <Views />
      <div class="header-end">
        <Access onToken={onToken} />
        <ConnectionStatus />
        <button
          type="button"
          class="button"
          onClick={onCopy}
          aria-label="Copy kubectl command"
          title="Copy the kubectl command that shows the same (c)"
        >
          <Icon name="copy" />
          <span class="wide-only">kubectl</span>
        </button>
        <ThemeButton />
        <button
          type="button"
          class="button button-icon"
          onClick={onHelp}
          aria-label="Help"
          title="Keys, and what the numbers mean (?)"
        >
          <Icon name="help" />
        </button>
      </div>
    </header>
  );
}

function Views() {
  const { route } = usePage();
  const pods = useSelect((state) => state.pods?.size);
  const isPods = route.view === 'pods' || route.view === 'pod';
  return (
    <nav class="views" aria-label="Views">
      <a href={viewHref('pods')} {...current(isPods)}>
        Pods {pods !== undefined && <span class="count">{pods}</span>}
      </a>
      <a href={viewHref('eviction')} {...current(route.view === 'eviction')}>
        Eviction
      </a>
      <a href={viewHref('health')} {...current(route.view === 'health')}>
        Kubelet
      </a>
    </nav>
  );
}

function current(isCurrent: boolean): { readonly 'aria-current'?: 'page' } {
  return isCurrent ? { 'aria-current': 'page' } : {};
}

const words: Readonly<Record<Connection['kind'], string>> = {
  connecting: 'Connecting',
  connected: 'Connected',
  reconnecting: 'Reconnecting',
  unauthorized: 'Not authorized',
};

function ConnectionStatus() {
  const { kind } = useSelect((state) => state.connection);
  return (
    <span class={`connection connection-${kind}`}>
      <span class="connection-dot" aria-hidden="true" />
      <span role="status">{words[kind]}</span>
    </span>
  );
}

function Access({ onToken }: { readonly onToken: () => void }) {
  const isReadOnly = useSelect(({ access, hello }) => hello !== undefined && !access.exec);
  if (!isReadOnly) return null;
  return (
    <button
      type="button"
      class="button button-quiet"
      onClick={onToken}
      title="You may read, but not open a shell. Enter a token to act."
    >
      <Icon name="lock" />
      <span class="wide-only">Read-only</span>
      <span class="visually-hidden">Enter a token</span>
    </button>
  );
}

const themeWords: Readonly<Record<Theme, string>> = { auto: 'of the system', light: 'light', dark: 'dark' };

function ThemeButton() {
  const [theme, setTheme] = useState(chosenTheme);
  const next = themes[(themes.indexOf(theme) + 1) % themes.length] ?? 'auto';
  const label = `Theme: ${themeWords[theme]}. Change to ${themeWords[next]}`;
  return (
    <button
      type="button"
      class="button button-icon"
      aria-label={label}
      title={label}
      onClick={() => {
        chooseTheme(next);
        setTheme(next);
      }}
    >
      <Icon name={theme} />
    </button>
  );
}
