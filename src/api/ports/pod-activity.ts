// What a pod waits for right now, as those tell it who work on it. Types only: told by images, volumes and runtime, put into
// one sentence by status.

export interface PodActivity {
  /** A part of a sentence: `image x is being pulled, attempt 2`. */
  readonly what: string;
  /** Wall clock. */
  readonly sinceMs: number;
}
