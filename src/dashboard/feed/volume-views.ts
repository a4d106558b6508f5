// The volumes of a pod: their kind, whether they are mounted, and what they wait for. Pure.
import type { Pod, Volume } from '../../api/k8s/types.ts';
import type { VolumeView } from '../../api/ports/node-page.ts';
import { boundText } from './event-stream.ts';

const textLength = 500;
const volumeLimit = 500;

/** `activities`: clauses of the volume manager, each of which begins with `volume NAME `. */
export function volumeViews(
  pod: Pod,
  mounted: ReadonlySet<string>,
  activities: readonly string[],
): readonly VolumeView[] {
  return (pod.spec?.volumes ?? []).slice(0, volumeLimit).map((volume) => {
    const { name } = volume;
    const begin = `volume ${name} `;
    const clause = activities.find((each) => each.startsWith(begin))?.slice(begin.length);
    const [kind, source] = sourceOf(volume);
    return {
      name: boundText(name, textLength),
      kind,
      mounted: mounted.has(name),
      detail: boundText(clause ?? source, textLength),
    };
  });
}

/** The fields that name where a volume comes from, by kind. None of them is a secret. */
const namingFields: Readonly<Record<string, readonly string[]>> = {
  configMap: ['name'],
  secret: ['secretName'],
  persistentVolumeClaim: ['claimName'],
  hostPath: ['path'],
  emptyDir: ['medium', 'sizeLimit'],
  csi: ['driver'],
  image: ['reference'],
  nfs: ['server', 'path'],
};

function sourceOf(volume: Volume): readonly [string, string] {
  const { name: _name, ...sources } = volume;
  const entry = Object.entries(sources).find(([, value]) => value !== undefined);
  if (entry === undefined) return ['emptyDir', ''];
  const [kind, value] = entry;
  const fields = Object.entries((value ?? {}) as Readonly<Record<string, unknown>>);
  const texts = (namingFields[kind] ?? []).flatMap((name) =>
    fields.flatMap(([field, text]) => (field === name && typeof text === 'string' ? [text] : [])),
  );
  return [boundText(kind, textLength), texts.join(' ')];
}
