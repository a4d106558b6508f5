// What is in flight in the CSI driver of the tests, by its log of calls.
import { join } from 'node:path';
import type { RequestLine, ResponseLine } from '../../test/csi-driver/call-log.ts';
import { readLines } from '../../test/csi-driver/volume-store.ts';
import { waitFor } from '../rig/wait.ts';
import type { CsiDriver } from './csi-driver.ts';

/** Waits until the driver has completed all calls, also those whose client is gone, which it continues. */
export async function untilIdle(driver: CsiDriver): Promise<void> {
  await waitFor(() => {
    const lines = readLines(join(driver.dir, 'calls.jsonl')) as readonly (RequestLine | ResponseLine)[];
    const ended = new Set(lines.map((line) => ('answers' in line && line.code !== 'CANCELLED' ? line.answers : '')));
    const open = lines.flatMap((line) => ('method' in line && line.pid === driver.pid && !ended.has(line.id) ? [line.method] : []));
    if (open.length === 0) return true;
    throw new Error(`in flight: ${open.join(', ')}`);
  }, 'the CSI driver to complete its calls');
}
