// Maps the keys of a ConfigMap or Secret to files: all keys, or the selected items with their paths and modes. Pure.
// Upstream: MakePayload in pkg/volume/configmap and pkg/volume/secret.
import type { KeyToPath } from '../../api/k8s/types.ts';
import type { ContentFile } from '../../api/ports/volume-host.ts';
import { KubeletError } from '../../base/errors.ts';

interface KeySelection {
  readonly items: readonly KeyToPath[] | undefined;
  readonly defaultMode: number;
  readonly optional: boolean;
}

/** The API server's default. */
export const apiDefaultMode = 0o644;

export function keyContent(
  data: ReadonlyMap<string, Uint8Array>,
  { items, defaultMode, optional }: KeySelection,
  missingKey: (key: string) => string,
): Map<string, ContentFile> {
  const content = new Map<string, ContentFile>();
  if (items === undefined || items.length === 0) {
    for (const [key, bytes] of data) content.set(key, { data: bytes, mode: defaultMode });
    return content;
  }
  for (const { key, path, mode } of items) {
    const bytes = data.get(key);
    if (bytes !== undefined) content.set(path, { data: bytes, mode: mode ?? defaultMode });
    else if (!optional) throw new KubeletError('invalid', 'FailedMount', missingKey(key));
  }
  return content;
}
