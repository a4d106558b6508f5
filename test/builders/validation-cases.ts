// Runs tables of "set this field, expect these violations" for the tests of src/sources/validation.
// The pods are decoded and defaulted like manifests, so that a case cannot have a type that the API forbids.
import { describe, expect, test } from 'vitest';
import { isObject } from '../../src/base/guards.ts';
import { canonicalQuantities } from '../../src/sources/decode/canonical-quantities.ts';
import { decodeManifest } from '../../src/sources/decode/decode-manifest.ts';
import { defaultPod } from '../../src/sources/defaults/pod-defaults.ts';
import { type PodValidationOptions, validatePod } from '../../src/sources/validation/validate-pod.ts';
import type { Violation } from '../../src/sources/validation/violation.ts';

/** The dotted path of a field, its value, and the expected violations as `field: type`, in order. */
type Case = readonly [path: string, value: unknown, want: readonly string[]];

interface CaseGroup {
  readonly name: string;
  /** Merged into a pod with one container `app`. */
  readonly base: object;
  readonly cases: readonly Case[];
}

export function runCases(groups: readonly CaseGroup[]): void {
  for (const { name, base, cases } of groups)
    describe(name, () => {
      for (const [path, value, want] of cases)
        test(`${path} = ${shortened(value)}`, () => {
          const found = violationsOf(withField(withBase(base), path, value));
          expect([...new Set(found.map(({ field, type }) => `${field}: ${type}`))]).toEqual(want);
        });
    });
}

export function violationsOf(pod: object, options?: PodValidationOptions): readonly Violation[] {
  const decoded = decodeManifest(Buffer.from(JSON.stringify(pod)));
  const manifest = decoded.pods[0];
  if (manifest === undefined) throw new Error(decoded.faults.map((fault) => fault.reason).join('; '));
  const full = canonicalQuantities(defaultPod(manifest));
  const { metadata = {}, spec = { containers: [] } } = full;
  const named = {
    ...metadata,
    name: `${metadata.name ?? ''}-node-1`,
    namespace: metadata.namespace || 'default',
  };
  return validatePod({ ...full, metadata: named, spec: { ...spec, nodeName: 'node-1' } }, options);
}

export function withBase(base: object): object {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web' },
    spec: { containers: [{ name: 'app', image: 'i' }] },
  };
  return merged(pod, base) as object;
}

function merged(under: unknown, over: unknown): unknown {
  if (!isObject(under) || !isObject(over)) return over;
  const keys = new Set([...Object.keys(under), ...Object.keys(over)]);
  return Object.fromEntries(
    [...keys].map((key) => [key, key in over ? merged(under[key], over[key]) : under[key]]),
  );
}

/** A copy with the field set; undefined removes it. */
function withField(target: object, path: string, value: unknown): object {
  const copy: unknown = structuredClone(target);
  const keys = path.split('.');
  let at = copy as Record<string, unknown>;
  for (const key of keys.slice(0, -1)) {
    at[key] ??= {};
    at = at[key] as Record<string, unknown>;
  }
  at[keys.at(-1) ?? ''] = value;
  return copy as object;
}

function shortened(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length <= 120 ? text : `${text.slice(0, 120)}…`;
}
