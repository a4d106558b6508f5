// Turns the output of `npm audit --json` into a verdict for a test run. Pure. Invariant: only a report of the registry passes
// or fails; anything else, such as a registry without audits or a missing network, is skipped with a reason.

type Verdict = { readonly kind: 'passed' | 'failed' | 'skipped'; readonly line: string };

interface Finding {
  readonly name?: unknown;
  readonly severity?: unknown;
}

interface Output {
  readonly error?: { readonly code?: unknown; readonly summary?: unknown };
  readonly message?: unknown;
  readonly vulnerabilities?: Readonly<Record<string, Finding>>;
  readonly metadata?: { readonly vulnerabilities?: Readonly<Record<string, unknown>> };
}

const failing: ReadonlySet<unknown> = new Set(['high', 'critical']);

/** `stdout` is undefined if npm timed out. */
export function auditVerdict(stdout: string | undefined): Verdict {
  if (stdout === undefined) return skipped('npm audit timed out');
  const output = parse(stdout);
  if (output === undefined) return skipped('npm audit printed no JSON');
  if (output.error !== undefined) return skipped(reasonOf(output));
  const { metadata, vulnerabilities } = output;
  if (vulnerabilities === undefined || metadata?.vulnerabilities === undefined)
    return skipped('npm audit printed no report');
  const found = Object.entries(vulnerabilities);
  const severe = found.filter(([, { severity }]) => failing.has(severity));
  if (severe.length === 0) {
    const lesser = found.length === 0 ? 'no advisory' : `${found.length} packages with lesser advisories`;
    return { kind: 'passed', line: `audit: ${lesser}` };
  }
  const names = severe.map(([name, { severity }]) => `${name} (${String(severity)})`).toSorted();
  return { kind: 'failed', line: `audit: advisories for ${names.join(', ')}; see npm audit --omit=dev` };
}

function skipped(reason: string): Verdict {
  return { kind: 'skipped', line: `audit: skipped, ${reason}` };
}

function reasonOf({ error, message }: Output): string {
  const parts = [error?.code, error?.summary, message].filter(
    (part) => typeof part === 'string' && part !== '',
  );
  const text = parts.slice(0, 2).join(': ').split('\n')[0] ?? '';
  return text === '' ? 'the registry does not support audits' : text;
}

function parse(text: string): Output | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
