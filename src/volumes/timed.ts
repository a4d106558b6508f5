// How long an operation on a volume took, told to whoever counts. Failing is an end like any other.
import type { Clock } from '../base/clock.ts';

interface OperationName {
  readonly plugin: string;
  readonly operation: 'volume_mount' | 'volume_unmount' | 'map_volume' | 'unmap_volume';
}

export type ObserveOperation = (
  operation: OperationName & { readonly seconds: number; readonly failed: boolean },
) => void;

export async function timed<T>(
  clock: Clock,
  observe: ObserveOperation,
  name: OperationName,
  work: () => Promise<T>,
): Promise<T> {
  const beganMs = clock.monotonic();
  let failed = true;
  try {
    const done = await work();
    failed = false;
    return done;
  } finally {
    observe({ ...name, seconds: (clock.monotonic() - beganMs) / 1_000, failed });
  }
}
