// Converts a recording into the compact form of test/replay: the pod, what was done to it, its events and its CRI calls.
import type { Pod } from '../../src/api/k8s/types.ts';
import { present } from '../../src/status/api-fields.ts';
import type { PlainRequests, Recording } from '../../test/replay/recording.ts';
import { compactCalls } from './calls.ts';
import type { Applied, Recorded } from './recorded.ts';

const defaultGraceSeconds = 30;

export function convertReplay(recorded: Recorded, applied: Applied, plain: PlainRequests): Recording {
  const { metadata, spec } = applied.pod;
  const { nodeName: _, ...rest } = spec ?? { containers: [] };
  const deletion = recorded.actions.find(({ action }) => action.startsWith('delete'));
  const graceSeconds = spec?.terminationGracePeriodSeconds ?? defaultGraceSeconds;
  const name = recorded.scenario;
  return present<Recording>({
    name,
    objects: applied.objects.length === 0 ? undefined : applied.objects,
    pod: { metadata, spec: rest } as Pod,
    resize: resizeOf(recorded),
    deleteAtMs: deletion?.atMs ?? 0,
    graceSeconds: deletion?.action === 'delete-now' ? 1 : graceSeconds,
    events: [...new Set(recorded.events.map(eventLine))],
    calls: compactCalls(recorded.cri, name, plain) as Recording['calls'],
  });
}

/** The resources that were requested are those of the last status: the resize completed. */
function resizeOf({ actions, statuses }: Recorded): Recording['resize'] {
  const action = actions.find((each) => each.action === 'resize-pod');
  const resources = statuses.at(-1)?.status.resources;
  if (action === undefined || resources === undefined) return undefined;
  return { atMs: action.atMs, resources };
}

function eventLine({ fieldPath = '-', message, reason, type }: Recorded['events'][number]): string {
  const text = message.replaceAll('\n', '\\n').replaceAll(/[0-9a-f]{64}/g, 'ID');
  return `${type} ${reason} ${fieldPath} ${text}`;
}
