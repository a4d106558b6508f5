// Validates paths inside volumes and on the host. Upstream: pkg/apis/core/validation (the path validators).
import type { KeyToPath } from '../../../api/k8s/types.ts';
import type { Violations } from '../violation.ts';

const modeLimit = 0o777;

/** No part of the path is `..`. */
export function checkNoBacksteps(v: Violations, field: string, path: string): void {
  if (path.split('/').includes('..')) v.invalid(field, path, "must not contain '..'");
}

/** Relative, and no part of the path is `..`. */
export function checkDescendingPath(v: Violations, field: string, path: string): void {
  if (path.startsWith('/')) v.invalid(field, path, 'must be a relative path');
  checkNoBacksteps(v, field, path);
}

/** As a descending path, and not a name that atomic updates of a volume use. */
export function checkVolumeFilePath(v: Violations, field: string, path: string): void {
  checkDescendingPath(v, field, path);
  if (path.startsWith('..') && !path.startsWith('../')) v.invalid(field, path, "must not begin with '..'");
}

export function checkFileMode(v: Violations, field: string, mode: number | undefined): void {
  if (mode !== undefined && (mode < 0 || mode > modeLimit))
    v.invalid(field, mode, 'must be between 0 and 0777 (octal)');
}

export function checkKeysToPaths(v: Violations, path: string, items: readonly KeyToPath[]): void {
  for (const [index, item] of items.entries()) {
    const at = `${path}[${index}]`;
    v.requiredText(`${at}.key`, item.key);
    v.requiredText(`${at}.path`, item.path);
    checkVolumeFilePath(v, `${at}.path`, item.path ?? '');
    checkFileMode(v, `${at}.mode`, item.mode);
  }
}
