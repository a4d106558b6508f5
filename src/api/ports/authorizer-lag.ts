// What a refusal of the API server means right after a pod was bound to this node: its authorizer learns of the pod by a
// watch of its own, and may be behind us. A moment later it grants what it has just refused.

/** Waits before asking again for what was refused; then it counts as refused. */
export const afterRefusalMs = [50, 100, 200, 400] as const;
