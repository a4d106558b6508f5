import type { PodRow } from '../../src/api/ports/node-page.ts';

/** What a status means for the viewer; it gives the mark its shape and colour. */
export type Tone = PodRow['tone'];
