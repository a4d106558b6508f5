// Every way a probe can ask, together.
import type { ProbeEdges } from '../../api/probe-requests.ts';
import { httpProbe } from './http-probe.ts';
import { tcpProbe } from './tcp-probe.ts';

export const probeEdges: ProbeEdges = {
  http: httpProbe,
  tcp: tcpProbe,
  // Few pods are asked by gRPC, and its library takes some megabytes.
  grpc: async (request, signal) => await (await import('./grpc-probe.ts')).grpcProbe(request, signal),
};
