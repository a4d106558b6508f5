// A shell in a container: xterm.js over a WebSocket. Loaded on demand.
import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import { useEffect, useRef, useState } from 'preact/hooks';
import { constructStyles } from './csp-styles.ts';
import { ExecConnection, type ExecEnd } from './exec-connection.ts';
import { splitCommand } from './split-command.ts';

interface TerminalViewProps {
  readonly namespace: string;
  readonly name: string;
  readonly container: string;
  readonly token: string | undefined;
}

interface Ended extends ExecEnd {
  readonly is: 'ended';
  readonly wasOpen: boolean;
}

type State = { readonly is: 'connecting' } | { readonly is: 'connected' } | Ended;

/** The best shell of the image. */
const anyShell = ['/bin/sh', '-c', 'exec "$(command -v bash || command -v ash || echo /bin/sh)"'];
const readerKey = 'kubelet-terminal-reader';

export default function TerminalView({ container, name, namespace, token }: TerminalViewProps) {
  const screen = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<State>({ is: 'connecting' });
  const [text, setText] = useState('');
  const [session, setSession] = useState<{ readonly command: readonly string[] }>({ command: anyShell });
  const [forReader, setForReader] = useState(localStorage.getItem(readerKey) === 'on');
  const isStyled = useStyles();
  const terminal = useRef<Terminal | undefined>(undefined);

  useEffect(() => {
    if (screen.current === null || !isStyled) return;
    const removeStyles = constructStyles(document);
    const made = createTerminal(forReader);
    const fit = new FitAddon();
    made.loadAddon(fit);
    made.open(screen.current);
    fit.fit();
    made.focus();
    terminal.current = made;
    setState({ is: 'connecting' });
    const connection: ExecConnection = new ExecConnection({
      url: execUrl({ namespace, name, container }, session.command),
      token,
      write: (data, drawn) => made.write(data, drawn),
      onOpen: () => {
        connection.resize(made.cols, made.rows);
        setState({ is: 'connected' });
      },
      onEnd: (end) => setState({ is: 'ended', wasOpen: connection.wasOpen, ...end }),
    });
    made.onData((data) => connection.input(data));
    made.onBinary((data) => connection.binaryInput(data));
    made.onResize(({ cols, rows }) => connection.resize(cols, rows));
    const observer = new ResizeObserver(() => fit.fit());
    observer.observe(screen.current);
    return () => {
      observer.disconnect();
      connection.close();
      made.dispose();
      removeStyles();
    };
  }, [namespace, name, container, token, session, isStyled]);
  useEffect(() => {
    if (terminal.current !== undefined) terminal.current.options.screenReaderMode = forReader;
  }, [forReader]);

  const run = (event: Event): void => {
    event.preventDefault();
    const command = splitCommand(text);
    setSession({ command: command.length === 0 ? anyShell : command });
  };
  return (
    <section class="terminal" aria-label="Terminal">
      <div class="terminal-bar">
        <p class="terminal-status" role="status">
          {describe(state, session.command === anyShell)}
        </p>
        <form onSubmit={run}>
          <input
            type="text"
            class="field"
            aria-label="Command"
            placeholder="Another command, for example: ls -l /"
            spellcheck={false}
            autocomplete="off"
            autocapitalize="off"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <button type="submit" class="button">
            Run
          </button>
        </form>
        <label>
          <input
            type="checkbox"
            checked={forReader}
            onChange={({ currentTarget: { checked } }) => {
              localStorage.setItem(readerKey, checked ? 'on' : 'off');
              setForReader(checked);
            }}
          />{' '}
          Screen reader
        </label>
        {state.is === 'ended' && (
          <button type="button" class="button" onClick={() => setSession({ command: session.command })}>
            Reconnect
          </button>
        )}
      </div>
      <div class="terminal-screen" ref={screen} />
    </section>
  );
}

function createTerminal(screenReaderMode: boolean): Terminal {
  const terminal = new Terminal({
    screenReaderMode,
    scrollback: 5_000,
    fontSize: 13,
    fontFamily: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
    theme: { background: '#0f1419', foreground: '#e6edf3', cursor: '#6cb2ff' },
    minimumContrastRatio: 4.5,
    // Links of the container's choosing must not open.
    linkHandler: { activate: () => undefined },
  });
  // The clipboard and the title belong to the viewer.
  for (const code of [0, 1, 2, 52]) terminal.parser.registerOscHandler(code, () => true);
  return terminal;
}

interface Target {
  readonly namespace: string;
  readonly name: string;
  readonly container: string;
}

function execUrl({ container, name, namespace }: Target, command: readonly string[]): URL {
  const path = [namespace, name, container].map(encodeURIComponent).join('/');
  const url = new URL(`../exec/${path}`, document.baseURI);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.hash = '';
  for (const each of command) url.searchParams.append('command', each);
  for (const each of ['input', 'output', 'tty']) url.searchParams.append(each, '1');
  return url;
}

const noShell = /no such file or directory|executable file not found/i;

function describe(state: State, isShell: boolean): string {
  if (state.is === 'connecting') return 'Connecting …';
  if (state.is === 'connected') return 'Connected';
  const { exitCode, wasOpen, why } = state;
  if (!wasOpen) {
    return 'Not connected. If you may not act: open the link with the token that make run printed, see docs/dashboard.md. Otherwise the container may not be running.';
  }
  if (isShell && (noShell.test(why) || exitCode === 126 || exitCode === 127))
    return 'The image has no shell. Enter a command that it has.';
  if (exitCode !== undefined) return `The command has ended with exit code ${exitCode}.`;
  return why === '' ? 'The connection was closed.' : why;
}

/** Loads the style sheet, once for the page. True when it is there. */
function useStyles(): boolean {
  const [isLoaded, setIsLoaded] = useState(false);
  useEffect(() => {
    const id = 'terminal-styles';
    const old = document.getElementById(id);
    if (old instanceof HTMLLinkElement && old.sheet !== null) {
      setIsLoaded(true);
      return;
    }
    const link =
      old ?? Object.assign(document.createElement('link'), { id, rel: 'stylesheet', href: 'terminal.css' });
    const done = (): void => setIsLoaded(true);
    link.addEventListener('load', done);
    link.addEventListener('error', done);
    if (old === null) document.head.append(link);
    return () => {
      link.removeEventListener('load', done);
      link.removeEventListener('error', done);
    };
  }, []);
  return isLoaded;
}
