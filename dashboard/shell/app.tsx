// The page as a whole: header, node strip, the view that the address names, help, announcements.
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Page } from '../data/page.ts';
import type { Route } from '../data/route.ts';
import { PageContext, type PageEnvironment, useSelect } from '../data/use-page.ts';
import { EvictionView } from '../eviction/eviction-view.tsx';
import { HealthView } from '../health/health-view.tsx';
import { NodeStrip } from '../node/node-strip.tsx';
import { PodView } from '../pod/pod-view.tsx';
import { PodsView } from '../pods/pods-view.tsx';
import { kubectlCommand } from '../text/kubectl.ts';
import { copyText } from './clipboard.ts';
import { Header } from './header.tsx';
import { HelpDialog } from './help-dialog.tsx';
import { currentRoute, go, takeToken } from './location.ts';
import { Notice } from './notice.tsx';
import { TokenDialog } from './token-dialog.tsx';
import { useKeys } from './use-keys.ts';

const toastMs = 4_000;

export function App({ page }: { readonly page: Page }) {
  const route = useRoute(page);
  const [toast, setToast] = useState('');
  const environment = useMemo<PageEnvironment>(
    () => ({
      page,
      route: route.current,
      navigate: route.navigate,
      announce: setToast,
    }),
    [page, route],
  );
  useEffect(() => {
    if (toast === '') return undefined;
    const timer = setTimeout(() => {
      setToast('');
    }, toastMs);
    return () => {
      clearTimeout(timer);
    };
  }, [toast]);
  return (
    <PageContext.Provider value={environment}>
      <Layout environment={environment} />
      <div class={toast === '' ? 'toast toast-empty' : 'toast'} aria-live="polite">
        {toast}
      </div>
    </PageContext.Provider>
  );
}

function useRoute(page: Page) {
  const [route, setRoute] = useState(currentRoute);
  useEffect(() => {
    const follow = () => {
      takeToken(page);
      setRoute(currentRoute());
    };
    addEventListener('hashchange', follow);
    return () => {
      removeEventListener('hashchange', follow);
    };
  }, [page]);
  const navigate = useCallback((href: string, replaces = false) => {
    go(href, replaces);
    if (replaces) setRoute(currentRoute());
  }, []);
  return useMemo(() => ({ current: route, navigate }), [route, navigate]);
}

function Layout({ environment }: { readonly environment: PageEnvironment }) {
  const { announce, navigate, route } = environment;
  const [dialog, setDialog] = useState<'help' | 'token' | undefined>(undefined);
  const nodeName = useSelect((state) => state.hello?.nodeName);
  const isStale = useSelect(
    ({ connection, hello }) => connection.kind !== 'connected' && hello !== undefined,
  );
  const copy = useCallback(() => {
    void copyCommand(kubectlCommand(route, nodeName ?? 'NODE'), announce);
  }, [announce, nodeName, route]);
  const openHelp = useCallback(() => {
    setDialog('help');
  }, []);
  const openToken = useCallback(() => {
    setDialog('token');
  }, []);
  const close = useCallback(() => {
    setDialog(undefined);
  }, []);
  useKeys(useMemo(() => ({ route, navigate, openHelp, copy }), [route, navigate, openHelp, copy]));
  useHeadingFocus(route, nodeName);
  return (
    <div class={isStale ? 'app stale' : 'app'} data-view={route.view}>
      <button type="button" class="skip-link" onClick={focusHeading}>
        Skip to the content
      </button>
      <Header onCopy={copy} onHelp={openHelp} onToken={openToken} />
      <Notice onToken={openToken} />
      <NodeStrip />
      <main>
        <View route={route} />
      </main>
      {dialog === 'help' && <HelpDialog onClose={close} />}
      {dialog === 'token' && <TokenDialog onClose={close} />}
    </div>
  );
}

async function copyCommand(command: string, announce: (text: string) => void): Promise<void> {
  const isCopied = await copyText(command);
  announce(isCopied ? `Copied: ${command}` : `The browser did not allow copying. The command: ${command}`);
}

function View({ route }: { readonly route: Route }) {
  switch (route.view) {
    case 'pods':
      return <PodsView query={route.query} />;
    case 'pod':
      return <PodView key={`${route.namespace}/${route.name}`} route={route} />;
    case 'eviction':
      return <EvictionView />;
    case 'health':
      return <HealthView />;
  }
}

function focusHeading(): void {
  document.querySelector<HTMLElement>('main h1')?.focus();
}

/** After a navigation a screen reader continues at the view's heading; the first view leaves the focus alone. */
function useHeadingFocus(route: Route, nodeName: string | undefined): void {
  const place = route.view === 'pod' ? `${route.namespace}/${route.name}/${route.tab}` : route.view;
  const shown = useRef(place);
  useEffect(() => {
    const subject =
      route.view === 'pod'
        ? route.name
        : { pods: 'Pods', eviction: 'Eviction', health: 'Kubelet' }[route.view];
    document.title = nodeName === undefined ? subject : `${subject} · ${nodeName}`;
    if (shown.current === place) return;
    shown.current = place;
    const isAnchor = route.view === 'pod' && (route.tab === 'spec' || route.tab === 'events');
    // The pod's view scrolls to such a region itself.
    if (!isAnchor) focusHeading();
  }, [place, nodeName, route]);
}
