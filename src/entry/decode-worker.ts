// The entry point of the thread that decodes large manifests. Started by src/edge/manifests/decode-worker-client.ts; lies beside
// main in the bundle.
import { parentPort } from 'node:worker_threads';
import { staticPodHashes } from '../api/pod/static-pod-hash/compute.ts';
import { serveWork } from '../edge/manifests/decode-worker-serve.ts';
import { buildParts, type ManifestWork } from '../sources/build-pods.ts';

if (parentPort !== null) serveWork(parentPort, (work) => buildParts(work as ManifestWork, staticPodHashes));
