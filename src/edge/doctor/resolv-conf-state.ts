// The name servers of a resolv.conf, as the C library reads them.
import { readFile } from 'node:fs/promises';
import { errorCode } from '../syscalls/syscalls-errors.ts';
import { untilAnswers } from './answering-file.ts';

interface ResolvConfState {
  readonly isMissing: boolean;
  readonly servers: readonly string[];
}

export async function readNameServers(path: string, signal: AbortSignal): Promise<ResolvConfState> {
  if (path === '') return { isMissing: false, servers: [] };
  await untilAnswers(path, signal);
  try {
    return { isMissing: false, servers: nameServersOf(await readFile(path, 'utf8')) };
  } catch (err) {
    if (errorCode(err) === 'ENOENT') return { isMissing: true, servers: [] };
    throw err;
  }
}

export function nameServersOf(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => {
    const [keyword, server] = line.split(/[ \t\r]+/, 2);
    return keyword === 'nameserver' && server !== undefined && server !== '' ? [server] : [];
  });
}
