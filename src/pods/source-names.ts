// The configured sources, all of which must have reported before a pod may be treated as removed.
import type { SourceName } from './desired-pods.ts';

export function sourceNames(config: {
  readonly staticPodPath: string;
  readonly staticPodURL: string;
  readonly hasApiServer: boolean;
}): readonly SourceName[] {
  return [
    ...(config.hasApiServer ? ['api' as const] : []),
    ...(config.staticPodPath === '' ? [] : ['file' as const]),
    ...(config.staticPodURL === '' ? [] : ['http' as const]),
  ];
}
