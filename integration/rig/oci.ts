// Builds OCI images in memory: layers, configuration, manifest, and an archive for the runtime to import.
// Invariant: reproducible: the same input yields the same bytes and digests.
import { createHash } from 'node:crypto';
import { arch } from 'node:process';
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';

export interface LayerEntry {
  readonly path: string;
  readonly content?: Uint8Array | string;
  readonly mode?: number;
  /** Makes the entry a symbolic link to this target. */
  readonly link?: string;
  /** Makes the entry a directory. */
  readonly folder?: boolean;
}

interface ImageSpec {
  readonly layers: readonly (readonly LayerEntry[])[];
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly env?: readonly string[];
  readonly user?: string;
  readonly workingDir?: string;
  readonly stopSignal?: string;
  /** Changes the image's ID and nothing else. */
  readonly author?: string;
}

export interface Blob {
  readonly digest: string;
  readonly bytes: Buffer;
  readonly mediaType: string;
}

export interface OciImage {
  readonly manifest: Blob;
  /** The configuration and the layers. */
  readonly blobs: readonly Blob[];
}

const types = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar',
} as const;

/** Go's name of this machine's architecture. */
export const goArchitecture = arch === 'x64' ? 'amd64' : arch;

function blob(bytes: Buffer, mediaType: string): Blob {
  return { digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`, bytes, mediaType };
}

function describe(one: Blob): Record<string, unknown> {
  return { mediaType: one.mediaType, digest: one.digest, size: one.bytes.length };
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

async function layer(entries: readonly LayerEntry[]): Promise<Buffer> {
  const tar = pack();
  const bytes = buffer(tar);
  const mtime = new Date(0);
  for (const entry of entries) {
    if (entry.folder === true) {
      tar.entry({ name: `${entry.path}/`, type: 'directory', mode: entry.mode ?? 0o755, mtime });
    } else if (entry.link !== undefined) {
      tar.entry({ name: entry.path, type: 'symlink', linkname: entry.link, mtime });
    } else {
      tar.entry({ name: entry.path, mode: entry.mode ?? 0o644, mtime }, Buffer.from(entry.content ?? ''));
    }
  }
  tar.finalize();
  return bytes;
}

export async function buildImage(spec: ImageSpec): Promise<OciImage> {
  const layers = await Promise.all(
    spec.layers.map(async (entries) => blob(await layer(entries), types.layer)),
  );
  const config = blob(
    json({
      created: '1970-01-01T00:00:00Z',
      author: spec.author,
      architecture: goArchitecture,
      os: 'linux',
      config: {
        Entrypoint: spec.entrypoint,
        Cmd: spec.command,
        Env: spec.env ?? ['PATH=/bin'],
        User: spec.user,
        WorkingDir: spec.workingDir,
        StopSignal: spec.stopSignal,
      },
      rootfs: { type: 'layers', diff_ids: layers.map((one) => one.digest) },
    }),
    types.config,
  );
  const manifest = blob(
    json({
      schemaVersion: 2,
      mediaType: types.manifest,
      config: describe(config),
      layers: layers.map(describe),
    }),
    types.manifest,
  );
  return { manifest, blobs: [config, ...layers] };
}

/** An archive in OCI layout with the named images, for `ctr images import`. */
export async function ociArchive(images: Readonly<Record<string, OciImage>>): Promise<Buffer> {
  const tar = pack();
  const bytes = buffer(tar);
  const mtime = new Date(0);
  const manifests = Object.entries(images).map(([name, image]) => ({
    ...describe(image.manifest),
    platform: { architecture: goArchitecture, os: 'linux' },
    annotations: { 'io.containerd.image.name': name },
  }));
  tar.entry({ name: 'oci-layout', mtime }, json({ imageLayoutVersion: '1.0.0' }));
  tar.entry({ name: 'index.json', mtime }, json({ schemaVersion: 2, mediaType: types.index, manifests }));
  const blobs = Object.values(images).flatMap((image) => [image.manifest, ...image.blobs]);
  for (const one of new Map(blobs.map((each) => [each.digest, each])).values()) {
    tar.entry({ name: `blobs/${one.digest.replace(':', '/')}`, mtime }, one.bytes);
  }
  tar.finalize();
  return bytes;
}
