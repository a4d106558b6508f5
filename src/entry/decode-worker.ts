// The entry point of the thread that decodes large manifests. Started by src/edge/manifests/decode-worker-client.ts; lies beside
// main in the bundle.
import { parentPort } from 'node:worker_threads';
import { staticPodUid } from '../api/pod/static-pod-hash/compute.ts';
import { serveWork } from '../edge/manifests/decode-worker-serve.ts';
import { type ManifestWork, makeParts } from '../sources/make-pods.ts';

if (parentPort !== null) serveWork(parentPort, (work) => makeParts(work as ManifestWork, staticPodUid));
