// The CSI source of a translated volume. Invariant: what is empty is absent, as in Go's JSON.
import type { CSIPersistentVolumeSource, SecretReference } from '../../api/k8s/types.ts';

interface SourceFields {
  readonly driver: string;
  readonly handle: string;
  readonly readOnly?: boolean | undefined;
  readonly fsType?: string | undefined;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly stageSecret?: SecretReference;
}

export function csiSource(fields: SourceFields): CSIPersistentVolumeSource {
  const { driver, handle, readOnly, fsType, attributes = {}, stageSecret } = fields;
  return {
    driver,
    volumeHandle: handle,
    ...(readOnly === true && { readOnly }),
    ...(isSet(fsType) && { fsType }),
    ...(Object.keys(attributes).length > 0 && { volumeAttributes: { ...attributes } }),
    ...(stageSecret !== undefined && { nodeStageSecretRef: stageSecret }),
  };
}

export function secretReference(name: string, namespace: string): SecretReference {
  return { ...(name !== '' && { name }), ...(namespace !== '' && { namespace }) };
}

/** Whether Go has neither a null pointer nor an empty string. */
export function isSet(text: string | null | undefined): text is string {
  return text !== undefined && text !== null && text !== '';
}
