// Matches an image against the registry address of credentials and plugins. Pure.
// Upstream: URLsMatch in pkg/credentialprovider/keyring.go. Invariant: `*` matches within one label of the host name only; the
// port is compared literally, the path as a prefix.

import { globMatches } from './glob.ts';

/** DNS names have up to 253 characters. */
const maxHostLength = 255;
const maxGlobLength = 1_024;

interface Address {
  readonly host: string;
  readonly port: string;
  readonly path: string;
}

/** Both without scheme: `*.example.com:5000/team` and `a.example.com:5000/team/app`. */
export function registryMatches(glob: string, image: string): boolean {
  const wanted = parseAddress(glob);
  const given = parseAddress(image);
  if (wanted === undefined || given === undefined) return false;
  if (wanted.port !== given.port || !given.path.startsWith(wanted.path)) return false;
  // differs from upstream: longer names are no hosts, and matching takes time.
  if (wanted.host.length > maxGlobLength || given.host.length > maxHostLength) return false;
  const parts = wanted.host.split('.');
  const names = given.host.split('.');
  return parts.length === names.length && parts.every((part, index) => globMatches(part, names[index] ?? ''));
}

/** Undefined if the address is invalid. */
export function parseAddress(text: string): Address | undefined {
  const match = /^(?:[^/?#@]*@)?([^/?#@]*)([^?#]*)/.exec(text);
  const authority = match?.[1] ?? '';
  if (/[\s"<>\\^`{|}]/.test(authority)) return undefined;
  const split = /^(?:\[([^\]]*)\]|([^:[\]]*)):(\d*)$/.exec(authority);
  const path = decodePath(match?.[2] ?? '');
  if (path === undefined) return undefined;
  if (split !== null) return { host: split[1] ?? split[2] ?? '', port: split[3] ?? '', path };
  // A colon without a port number makes the address invalid.
  if (authority.lastIndexOf(':') > authority.lastIndexOf(']')) return undefined;
  return { host: authority, port: '', path };
}

function decodePath(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}
