// The probe handlers over the network, by kind.
import type { ProbeEdges } from '../../api/ports/probe-requests.ts';
import { grpcProbe } from './grpc-probe.ts';
import { httpProbe } from './http-probe.ts';
import { tcpProbe } from './tcp-probe.ts';

export const probeEdges: ProbeEdges = {
  http: httpProbe,
  tcp: tcpProbe,
  grpc: grpcProbe,
};
