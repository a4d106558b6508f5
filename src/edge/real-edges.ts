// The outside as it really is: what assemble.ts plugs into the loops on a node. Tests plug in doubles of the same shape.
import type { Clock } from '../base/clock.ts';
import { type CriClientOptions, criClient } from './cri/client.ts';
import { httpGet } from './host/http-get.ts';
import { listenHttp } from './host/listen-http.ts';
import { PodCgroups } from './host/pod-cgroups.ts';
import { PodFiles } from './host/pod-files.ts';
import { listManifests, readManifestFile } from './host/read-manifest.ts';
import { watchPath } from './host/watch-dir.ts';

export type RealEdges = ReturnType<typeof realEdges>;

export function realEdges(clock: Clock) {
  return {
    cri: (options: Omit<CriClientOptions, 'clock'>) => criClient({ ...options, clock }),
    files: new PodFiles(),
    cgroups: (paths: (uid: string) => readonly string[]) => new PodCgroups({ paths }),
    manifests: {
      list: listManifests,
      read: readManifestFile,
      watch: (path: string, onChange: () => void, onError: (err: unknown) => void) =>
        watchPath({ path, clock, onChange, onError }),
    },
    httpGet,
    listen: listenHttp,
  };
}
