// /statusz and /flagz: text for humans, JSON and YAML for clients that request a kind and a version of config.k8s.io.
// Upstream: k8s.io/apiserver/pkg/server/{flagz,statusz}.
import { type HttpResponse, type RouteHandler, textResponse } from '../http-message.ts';
import { acceptOf, negotiate, notAcceptable, structured, type Target } from './negotiate.ts';

export interface StatuszDeps {
  readonly startedAtMs: number;
  readonly now: () => number;
  /** The versions of Node.js, of this kubelet and of the kubelet that it emulates. */
  readonly versions: { readonly node: string; readonly binary: string; readonly emulation: string };
  /** The paths that the page lists. */
  readonly paths: () => readonly string[];
}

type Flag = readonly [name: string, value: string];

/** `flags`: every flag with its value, in alphabetical order. */
export function flagzHandler(flags: () => readonly Flag[]): RouteHandler {
  return zpage({
    kind: 'Flagz',
    fields: () => ({ flags: Object.fromEntries(flags()) }),
    // Upstream chooses between four separators at random, so that no client parses the page.
    text: () =>
      flags()
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
  });
}

export function statuszHandler(deps: StatuszDeps): RouteHandler {
  const { now, paths, startedAtMs, versions } = deps;
  const started = new Date(Math.floor(startedAtMs / 1000) * 1000);
  const upSeconds = (): number => Math.max(0, Math.floor((now() - started.getTime()) / 1000));
  // The field is part of the object's schema, and clients expect its line in the text.
  const goVersion = `node ${versions.node}`;
  const binaryVersion = versions.binary.replace(/^v/, '');
  return zpage({
    kind: 'Statusz',
    fields: () => ({
      startTime: started.toISOString().replace('.000Z', 'Z'),
      uptimeSeconds: upSeconds(),
      goVersion,
      binaryVersion,
      emulationVersion: versions.emulation,
      paths: paths(),
    }),
    text: () => `
Started: ${unixDate(started)}
Up: ${upTime(upSeconds())}
Go version: ${goVersion}
Binary version: ${binaryVersion}
Emulation version: ${versions.emulation}
Paths: ${paths().join(' ')}
`,
  });
}

interface Page {
  readonly kind: 'Flagz' | 'Statusz';
  readonly fields: () => object;
  readonly text: () => string;
}

const group = 'config.k8s.io';
const versions: readonly string[] = ['v1beta1', 'v1alpha1'];

function zpage(page: Page): RouteHandler {
  const isServed = (target: Target): boolean =>
    target.kind === page.kind && target.group === group && versions.includes(target.version);
  return (request) => {
    if (acceptOf(request) === '') return textOf(page);
    const chosen = negotiate(request, (type, target) =>
      type === 'text/plain' ? target === undefined : target !== undefined && isServed(target),
    );
    if (chosen === undefined) return notAcceptable(request);
    const { target } = chosen;
    if (target === undefined) return textOf(page);
    const object = {
      kind: page.kind,
      apiVersion: `${group}/${target.version}`,
      metadata: { name: 'kubelet' },
      ...page.fields(),
    };
    const response = structured(request, chosen, object);
    if (target.version !== 'v1alpha1') return response;
    const text = `This version of the ${page.kind.toLowerCase()} endpoint is deprecated. Please use a newer version.`;
    return { ...response, headers: { ...response.headers, warning: `299 - "${text}"` } };
  };
}

function textOf({ kind, text }: Page): HttpResponse {
  return textResponse(`
kubelet ${kind.toLowerCase()}
Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.
${text()}`);
}

/** Go's time.UnixDate, in UTC: `Tue Nov 17 18:47:11 UTC 2026`. */
function unixDate(date: Date): string {
  const [, day, month, year, time] = /^(\w+), \d+ (\w+) (\d+) ([\d:]+) GMT$/.exec(date.toUTCString()) ?? [];
  return `${day} ${month} ${String(date.getUTCDate()).padStart(2)} ${time} UTC ${year}`;
}

function upTime(seconds: number): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const minutes = Math.floor(seconds / 60);
  return `${Math.floor(minutes / 60)} hr ${two(minutes % 60)} min ${two(seconds % 60)} sec`;
}
