// Measures the file system that holds the images. Upstream: ImageFsStats in pkg/kubelet/stats/cri_stats_provider.go.
// Invariant: both the runtime and statfs have a deadline; a value is never older than its request.
import type { CriImages } from '../../api/cri/runtime.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { describeError, isAbortOf, KubeletError } from '../../base/errors.ts';
import type { FsSpace } from './compute-removals.ts';

export interface ImageFs {
  /** Undefined if the runtime does not name the file system. Rejects if it cannot be measured. */
  imageFs(signal: AbortSignal): Promise<FsSpace | undefined>;
}

interface ImageFsDeps {
  readonly images: Pick<CriImages, 'imageFsInfo'>;
  /** May hang, such as on a dead NFS mount. */
  readonly space: (path: string) => Promise<FsSpace>;
  readonly clock: Clock;
}

const infoDeadlineMs = 20_000;
const spaceDeadlineMs = 5_000;

export function imageFsReader({ clock, images, space }: ImageFsDeps): ImageFs {
  return {
    imageFs: async (signal) => {
      const { imageFilesystems } = await withDeadline(
        { clock, ms: infoDeadlineMs, signal, what: 'image file system' },
        (inner) => images.imageFsInfo({}, { signal: inner }),
      );
      const [first] = imageFilesystems;
      if (first === undefined) throw unavailable('imageFs information is unavailable');
      const path = first.fsId?.mountpoint ?? '';
      if (path === '') return undefined;
      try {
        const what = `file system of ${path}`;
        return await withDeadline({ clock, ms: spaceDeadlineMs, signal, what }, () => space(path));
      } catch (err) {
        if (isAbortOf(err, signal)) throw err;
        const why = 'Failed to get the info of the filesystem with mountpoint';
        throw unavailable(`get filesystem info: ${why}: ${describeError(err)}`);
      }
    },
  };
}

function unavailable(message: string): KubeletError {
  return new KubeletError('unavailable', 'ImageFsUnavailable', message);
}
