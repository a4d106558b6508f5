// Environment variables with the addresses of services. Pure. Upstream: pkg/kubelet/envvars, getServiceEnvVarMap in
// kubelet_pods.go. Invariant: the API server's service is always included, the others only with enableServiceLinks.
import type { Pod, Service } from '../../api/k8s/types.ts';

export function serviceEnv(pod: Pod, services: readonly Service[]): Map<string, string> {
  const namespace = pod.metadata?.namespace ?? '';
  const links = pod.spec?.enableServiceLinks ?? true;
  const chosen = new Map<string, Service>();
  for (const service of services) {
    const { name = '', namespace: of } = service.metadata ?? {};
    const { clusterIP = '', ports = [] } = service.spec ?? {};
    if (clusterIP === '' || clusterIP === 'None' || ports.length === 0) continue;
    if (of === 'default' && name === 'kubernetes') {
      if (!chosen.has(name)) chosen.set(name, service);
    } else if (of === namespace && links) chosen.set(name, service);
  }
  // differs from upstream: sorted by name, so that two starts of a container send the same request.
  const sorted = [...chosen.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return new Map(sorted.flatMap(([name, service]) => variables(name, service)));
}

function variables(serviceName: string, { spec }: Service): readonly (readonly [string, string])[] {
  const ip = spec?.clusterIP ?? '';
  const ports = spec?.ports ?? [];
  const name = variableName(serviceName);
  const host = ip.includes(':') ? `[${ip}]` : ip;
  const first = ports[0];
  const url = (port: number, protocol: string): string => `${protocol.toLowerCase()}://${host}:${port}`;
  return [
    [`${name}_SERVICE_HOST`, ip],
    [`${name}_SERVICE_PORT`, String(first?.port ?? 0)],
    ...ports
      .filter((port) => (port.name ?? '') !== '')
      .map((port) => [`${name}_SERVICE_PORT_${variableName(port.name ?? '')}`, String(port.port)] as const),
    [`${name}_PORT`, url(first?.port ?? 0, protocolOf(first))],
    ...ports.flatMap((port) => {
      const protocol = protocolOf(port);
      const prefix = `${name}_PORT_${port.port}_${protocol.toUpperCase()}`;
      return [
        [prefix, url(port.port, protocol)],
        [`${prefix}_PROTO`, protocol.toLowerCase()],
        [`${prefix}_PORT`, String(port.port)],
        [`${prefix}_ADDR`, ip],
      ] as const;
    }),
  ];
}

function protocolOf(port: { readonly protocol?: string } | undefined): string {
  return port?.protocol === undefined || port.protocol === '' ? 'TCP' : port.protocol;
}

function variableName(name: string): string {
  return name.replaceAll('-', '_').toUpperCase();
}
