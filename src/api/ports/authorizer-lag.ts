// Retries of a forbidden request right after a pod was bound to this node: the API server's Node authorizer learns of the pod
// by a watch of its own, may lag behind, and grants the request a moment later.

/** Delays before each retry of a forbidden request. After the last one the error is final. */
export const forbiddenRetryMs = [50, 100, 200, 400] as const;
