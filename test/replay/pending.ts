// Recordings of features that this kubelet does not have yet. Each goes when its feature arrives; the list ends empty.
export const pendingRecordings: ReadonlySet<string> = new Set([
  'env-file',
  'image-volume',
  'pod-level-resize',
  // Its statuses are compared by src/status/recorded.test.ts; its CRI calls are not yet.
  'restart-all',
]);
