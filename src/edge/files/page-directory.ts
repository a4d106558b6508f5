// Reads the built files of the node's page, which are beside the command.
import { join } from 'node:path';
import { isMissing } from './pod-files.ts';
import { readSmallBytes } from './small-files.ts';

const limitBytes = 8 * 1024 * 1024;

/** `name`: one of the page's own names, never one that a client chose. Undefined if it does not exist. */
export async function readPageFile(directory: string, name: string): Promise<Uint8Array | undefined> {
  try {
    return await readSmallBytes(join(directory, name), { limitBytes, followLinks: true });
  } catch (err) {
    if (isMissing(err)) return undefined;
    throw err;
  }
}
