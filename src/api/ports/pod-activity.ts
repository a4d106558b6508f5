// An in-flight operation that a pod is waiting for, for /explain. Types only: reported by images, volumes and runtime,
// formatted by status.

export interface PodActivity {
  /** A clause: `image x is being pulled, attempt 2`. */
  readonly what: string;
  /** Wall clock. */
  readonly sinceMs: number;
}
