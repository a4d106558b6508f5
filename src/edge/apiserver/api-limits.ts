// The rate limits and the heartbeat timeout of the API client, from the configuration. Upstream: client-go/rest. Pure.

/** Fields of KubeletConfiguration. */
interface LimitSettings {
  readonly kubeAPIQPS: number;
  readonly kubeAPIBurst: number;
  readonly eventRecordQPS: number;
  readonly eventBurst: number;
  readonly nodeLeaseDurationSeconds: number;
  readonly nodeStatusUpdateFrequency: { readonly ms: number };
}

interface Rate {
  readonly qps: number;
  readonly burst: number;
}

interface ApiServerLimits {
  readonly limits: { readonly requests: Rate; readonly events: Rate };
  readonly heartbeatTimeoutMs: number;
}

/** client-go's default, which kubeAPIQPS 0 stands for. For events, 0 means no limit. */
const defaultRate: Rate = { qps: 5, burst: 10 };

export function apiServerLimits(config: LimitSettings): ApiServerLimits {
  const { eventBurst, eventRecordQPS, kubeAPIBurst, kubeAPIQPS } = config;
  const { nodeLeaseDurationSeconds, nodeStatusUpdateFrequency } = config;
  return {
    limits: {
      requests: kubeAPIQPS === 0 ? defaultRate : { qps: kubeAPIQPS, burst: kubeAPIBurst },
      events: { qps: eventRecordQPS, burst: eventBurst },
    },
    // A heartbeat that takes longer than this is late even if it succeeds.
    heartbeatTimeoutMs: Math.min(nodeStatusUpdateFrequency.ms, nodeLeaseDurationSeconds * 1000),
  };
}
