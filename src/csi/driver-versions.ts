// Which version of the CSI specification a driver is used with. Pure. Upstream: HighestSupportedVersion in
// apimachinery/pkg/util/version, and validateVersions in pkg/volume/csi/csi_plugin.go, with the same texts.
import { goQuote } from '../base/log/log-value.ts';

/** A driver sends lists and texts of any length. */
const mostVersions = 32;
const shownChars = 64;

interface Version {
  readonly parts: readonly bigint[];
}

type Parsed = Version | { readonly fault: string };

/** The highest version with major 1 at most, as text; or why none of them is supported. */
export function computeHighestVersion(
  versions: readonly string[],
): { readonly version: string } | { readonly fault: string } {
  const bounded = versions.slice(0, mostVersions).map((each) => each.slice(0, shownChars));
  let highest: Version | undefined;
  let fault = '<nil>';
  for (const text of bounded.toReversed()) {
    const parsed = parseVersion(text);
    if ('fault' in parsed) fault = parsed.fault;
    else if ((parsed.parts[0] ?? 0n) <= 1n && (highest === undefined || isLess(highest, parsed)))
      highest = parsed;
  }
  if (highest === undefined) {
    const shown = bounded.join(' ');
    return {
      fault: `could not find a highest supported version from versions ([${shown}]) reported: ${fault}`,
    };
  }
  const version = highest.parts.join('.');
  if (highest.parts[0] !== 1n)
    return { fault: `highest supported version reported is ${version}, must be v1.x` };
  return { version };
}

/** Undefined if one of the versions is supported. `caller`: the step that upstream's text begins with. */
export function versionsFault(
  caller: string,
  driver: string,
  versions: readonly string[],
): string | undefined {
  const what = `kubernetes.io/csi: ${caller} for CSI driver ${goQuote(driver)} failed.`;
  if (versions.length === 0) return `${what} Plugin returned an empty list for supported versions`;
  const highest = computeHighestVersion(versions);
  if ('version' in highest) return undefined;
  const shown = versions.slice(0, mostVersions).map((each) => goQuote(each.slice(0, shownChars)));
  return `${what} None of the versions specified [${shown.join(' ')}] are supported. err=${highest.fault}`;
}

const leading = /^[\t\n\f\r ]*v?([0-9]+(?:\.[0-9]+)*)/;
const uint64Limit = 2n ** 64n;

/** Two or more numbers between dots, then anything on the same line. */
function parseVersion(text: string): Parsed {
  const found = leading.exec(text);
  if (found === null || text.slice(found[0].length).includes('\n'))
    return { fault: `could not parse ${goQuote(text)} as version` };
  const components = (found[1] ?? '').split('.');
  if (components.length < 2) return { fault: `illegal version string ${goQuote(text)}` };
  const [major = ''] = components;
  if (major !== '0' && major.startsWith('0'))
    return { fault: `illegal zero-prefixed version component ${goQuote(major)} in ${goQuote(text)}` };
  const parts = components.map((each) => BigInt(each));
  const tooLarge = components[parts.findIndex((each) => each >= uint64Limit)];
  if (tooLarge === undefined) return { parts };
  const why = `strconv.ParseUint: parsing ${goQuote(tooLarge)}: value out of range`;
  return { fault: `illegal non-numeric version component ${goQuote(tooLarge)} in ${goQuote(text)}: ${why}` };
}

function isLess(a: Version, b: Version): boolean {
  for (let at = 0; at < Math.max(a.parts.length, b.parts.length); at++) {
    const left = a.parts[at] ?? 0n;
    const right = b.parts[at] ?? 0n;
    if (left !== right) return left < right;
  }
  return false;
}
