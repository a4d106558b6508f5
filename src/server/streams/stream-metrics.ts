// Counts the WebSockets that end at the kubelet. Upstream: IncWebSocketStreamingRequest in pkg/kubelet/server/metrics.
import type { Metrics } from '../../base/metrics.ts';

export class StreamMetrics {
  readonly #requests;

  constructor(registry: Metrics) {
    this.#requests = registry.counter({
      name: 'kubelet_websocket_streaming_requests_total',
      help: 'WebSocket requests of exec, attach and port-forward that end at the kubelet, by subresource.',
      labels: ['subresource'],
    });
  }

  webSocket(subresource: 'exec' | 'attach' | 'portforward'): void {
    this.#requests.inc({ subresource });
  }
}
