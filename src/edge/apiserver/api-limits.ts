// The rate limits and the heartbeat timeout of the API client, from the configuration. Upstream: client-go/rest. Pure.

/** Fields of KubeletConfiguration. */
export interface LimitSettings {
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

/** Read for each request, so that they may change. */
interface ApiServerLimits {
  readonly limits: { readonly requests: Rate; readonly events: Rate };
  readonly heartbeatTimeoutMs: number;
}

/** client-go's default, which kubeAPIQPS 0 stands for. For events, 0 means no limit. */
const defaultRate: Rate = { qps: 5, burst: 10 };

export function apiServerLimits(config: LimitSettings): ApiServerLimits {
  return {
    limits: {
      get requests() {
        const { kubeAPIBurst: burst, kubeAPIQPS: qps } = config;
        return qps === 0 ? defaultRate : { qps, burst };
      },
      get events() {
        return { qps: config.eventRecordQPS, burst: config.eventBurst };
      },
    },
    // A heartbeat that takes longer than this is late even if it succeeds.
    get heartbeatTimeoutMs() {
      return Math.min(config.nodeStatusUpdateFrequency.ms, config.nodeLeaseDurationSeconds * 1000);
    },
  };
}
