// An image with a gRPC server: this machine's Node with its libraries, and the health service over node:http2.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildImage, type LayerEntry, ociArchive } from '../rig/oci.ts';
import { mustRun } from '../rig/process.ts';
import type { Rig } from '../rig/rig.ts';

export const grpcImage = 'rig.local/grpc-health:1';

/** grpc.health.v1.Health on the port of its argument: SERVING, but NOT_SERVING for the service `down`. */
const server = `
const { createServer } = require('node:http2');
createServer()
  .on('stream', (stream) => {
    const chunks = [];
    stream.on('data', (chunk) => chunks.push(chunk));
    stream.on('error', () => undefined);
    stream.on('end', () => {
      const status = Buffer.concat(chunks).includes('down') ? 2 : 1;
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(Buffer.from([0, 0, 0, 0, 2, 8, status]));
    });
  })
  .listen(Number(process.argv[2]), '0.0.0.0');
process.on('SIGTERM', () => process.exit(0));
`;

/** The libraries that the program is linked against, including the loader; none if it is static. */
async function librariesOf(program: string): Promise<readonly string[]> {
  const text = await mustRun('ldd', [program]).catch(() => '');
  return [...text.matchAll(/(?:=> )?(\/\S+) \(0x/g)]
    .map(([, path]) => path ?? '')
    .filter((path) => path !== '');
}

export async function addGrpcImage(rig: Rig): Promise<void> {
  const libraries = await librariesOf(process.execPath);
  const folders = new Set<string>(['node', 'tmp']);
  for (const library of libraries)
    for (let folder = dirname(library).slice(1); folder !== ''; folder = dirname(`/${folder}`).slice(1))
      folders.add(folder);
  const entries: LayerEntry[] = [
    ...[...folders].toSorted().map((path) => ({ path, folder: true })),
    ...libraries.map((path) => ({ path: path.slice(1), content: readFileSync(path), mode: 0o755 })),
    { path: 'node/node', content: readFileSync(process.execPath), mode: 0o755 },
    { path: 'node/health.js', content: server },
  ];
  const image = await buildImage({ layers: [entries], entrypoint: ['/node/node', '/node/health.js'] });
  const archive = join(rig.workspace.dir, 'grpc-image.tar');
  mkdirSync(dirname(archive), { recursive: true });
  writeFileSync(archive, await ociArchive({ [grpcImage]: image }));
  await rig.ctr('images', 'import', '--snapshotter', rig.containerd.snapshotter, archive);
  await rig.waitForImage(grpcImage);
  rmSync(archive);
}
