// The kubectl command that shows what a view shows, quoted so that a hostile name stays one argument of the shell.
import type { Route } from '../data/route.ts';
import { isHidden } from './visible.ts';

const isPlain = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** One argument for a POSIX shell; `$'…'` of bash and zsh where a control would reach the terminal. */
export function shellQuote(text: string): string {
  if (isPlain.test(text)) return text;
  const codes = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
  if (!codes.some(isHidden)) return `'${text.replaceAll("'", "'\\''")}'`;
  return `$'${codes.map(escaped).join('')}'`;
}

function escaped(code: number): string {
  const char = String.fromCharCode(code);
  if (char === "'" || char === '\\') return `\\${char}`;
  if (!isHidden(code)) return char;
  return `\\u${code.toString(16).padStart(4, '0')}`;
}

function command(...words: readonly string[]): string {
  return ['kubectl', ...words.map(shellQuote)].join(' ');
}

/** A name that begins with a dash would be read as an option. */
function nameWords(name: string): readonly string[] {
  return name.startsWith('-') ? ['--', name] : [name];
}

/** The command for a view; `container` is the one whose logs or shell it shows, if only one. */
export function kubectlCommand(route: Route, nodeName: string): string {
  const proxy = `/api/v1/nodes/${encodeURIComponent(nodeName)}/proxy`;
  switch (route.view) {
    case 'pods':
      return command('get', 'pods', '-A', '-o', 'wide', '--field-selector', `spec.nodeName=${nodeName}`);
    case 'eviction':
      return command('get', '--raw', `${proxy}/explain/eviction`);
    case 'health':
      return command('get', '--raw', `${proxy}/healthz?verbose`);
    case 'pod':
      return podCommand(route, route.query.get('c') ?? '');
  }
}

function podCommand(
  { namespace, name, tab, query }: Extract<Route, { view: 'pod' }>,
  containers: string,
): string {
  const names = nameWords(name);
  const single = containers !== '' && !containers.includes(',') ? containers : undefined;
  switch (tab) {
    case 'overview':
      return command('describe', 'pod', '-n', namespace, ...names);
    case 'spec':
      return command('get', 'pod', '-n', namespace, '-o', 'yaml', ...names);
    case 'events':
      return command('events', '-n', namespace, '--for', `pod/${name}`);
    case 'logs': {
      const which = single === undefined ? ['--all-containers', '--prefix'] : ['-c', single];
      const previous = query.get('previous') === '1' ? ['--previous'] : ['-f'];
      return command('logs', ...previous, '--tail=1000', '-n', namespace, ...which, ...names);
    }
    case 'shell':
      return command(
        'exec',
        '-it',
        '-n',
        namespace,
        ...(single === undefined ? [] : ['-c', single]),
        name,
        '--',
        'sh',
      );
  }
}
