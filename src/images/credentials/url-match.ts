// Whether the address of a registry, as credentials and providers name it, covers an image. Pure.
// Upstream: URLsMatch in pkg/credentialprovider/keyring.go. Invariant: `*` stands within one part of the host's name only;
// port and path are compared as they are, the path as a prefix.

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
  const parts = wanted.host.split('.');
  const names = given.host.split('.');
  return parts.length === names.length && parts.every((part, index) => globMatches(part, names[index] ?? ''));
}

/** Undefined when it is no address. */
export function parseAddress(text: string): Address | undefined {
  const match = /^(?:[^/?#@]*@)?([^/?#@]*)([^?#]*)/.exec(text);
  const authority = match?.[1] ?? '';
  if (/[\s"<>\\^`{|}]/.test(authority)) return undefined;
  const split = /^(?:\[([^\]]*)\]|([^:[\]]*)):(\d*)$/.exec(authority);
  const path = decodePath(match?.[2] ?? '');
  if (path === undefined) return undefined;
  if (split !== null) return { host: split[1] ?? split[2] ?? '', port: split[3] ?? '', path };
  // A colon that leads to no port makes it no address.
  if (/:[^\]]*$/.test(authority) && !/^\[.*\]$/.test(authority)) return undefined;
  return { host: authority, port: '', path };
}

function decodePath(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/** A shell pattern without separators: `*`, `?`, `[a-z]`, `[^a]`, `\x`. A faulty one matches nothing. */
export function globMatches(pattern: string, text: string): boolean {
  const source = globSource(pattern);
  return source !== undefined && new RegExp(`^(?:${source})$`, 'su').test(text);
}

function globSource(pattern: string): string | undefined {
  const token = /\*+|\?|\[(\^?)((?:\\.|[^\]\\])+)\]|\\(.)|([^*?[\\])/suy;
  let source = '';
  let at = 0;
  while (at < pattern.length) {
    token.lastIndex = at;
    const found = token.exec(pattern);
    if (found === null) return undefined;
    at = token.lastIndex;
    const [whole, negated, members, escaped, plain] = found;
    if (members !== undefined) {
      const inner = classSource(members);
      if (inner === undefined) return undefined;
      source += `[${negated === '^' ? '^/' : ''}${inner}]`;
    } else if (escaped !== undefined || plain !== undefined) source += quote(escaped ?? plain ?? '');
    else source += whole === '?' ? '[^/]' : '[^/]*';
  }
  return source;
}

/** Characters and ranges, each escaped, so that none has a meaning of its own. */
function classSource(members: string): string | undefined {
  const characters = [...members.matchAll(/\\(.)|(.)/gsu)].map((found) => ({
    text: found[1] ?? found[2] ?? '',
    isRange: found[2] === '-',
  }));
  let source = '';
  for (let index = 0; index < characters.length; index += 1) {
    const low = characters[index];
    if (low === undefined || low.isRange) return undefined;
    if (characters[index + 1]?.isRange !== true) {
      source += quote(low.text);
      continue;
    }
    const high = characters[index + 2];
    if (high === undefined || high.isRange || high.text < low.text) return undefined;
    source += `${quote(low.text)}-${quote(high.text)}`;
    index += 2;
  }
  return source;
}

function quote(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
