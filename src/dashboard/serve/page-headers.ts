// The headers of the page's files. Pure. Upstream has no counterpart.
import type { PageFile } from './page-manifest.ts';

/** Everything is from the same origin, and nothing is inline. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const fixed = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()',
  vary: 'accept-encoding',
};

/** On 10250 what is cached belongs to one user. */
const immutable = 'private, max-age=31536000, immutable';

export function pageHeaders(file: PageFile): Readonly<Record<string, string>> {
  return {
    ...fixed,
    'content-type': file.type,
    'cache-control': file.immutable ? immutable : 'no-cache',
    etag: etagOf(file),
  };
}

/** Weak: all encodings of a file have the same one. */
function etagOf({ hash }: PageFile): string {
  return `W/"${hash}"`;
}

/** Whether the client has this version of the file. */
export function isCurrent(file: PageFile, ifNoneMatch: string | undefined): boolean {
  const known = (ifNoneMatch ?? '').split(',').map((each) => each.trim().replace(/^W\//, ''));
  return known.includes(`"${file.hash}"`);
}

/** The best encoding of the file that the client accepts, of those that were made when the page was built; else none. */
export function encodingOf(file: PageFile, acceptEncoding: string | undefined): 'br' | 'gzip' | undefined {
  const accepted = new Set((acceptEncoding ?? '').split(',').flatMap((each) => acceptedName(each)));
  return (['br', 'gzip'] as const).find((name) => file.encodings.includes(name) && accepted.has(name));
}

function acceptedName(part: string): readonly string[] {
  const [name = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase());
  return parameters.some((each) => /^q=0(\.0{0,3})?$/.test(each)) ? [] : [name];
}
