// Translates tracing.endpoint into a target of @grpc/grpc-js. Pure. Upstream: grpc-go's target names, as otlptracegrpc resolves them.

const defaultPort = 4317;

/** Accepts `host:port`, `dns://[server]/host:port`, `unix:///path`, `unix-abstract:///name`. */
export function grpcTarget(endpoint: string): string {
  const [, scheme = '', rest = ''] = /^(dns|unix|unix-abstract):(.*)$/s.exec(endpoint) ?? [];
  if (scheme === 'unix') return `unix:${withoutEmptyAuthority(rest)}`;
  // grpc-js has no such scheme, but a zero byte at the start of a path is Linux's own form of an abstract name.
  if (scheme === 'unix-abstract') return `unix:\0${withoutEmptyAuthority(rest)}`;
  // A port that looks like the rest of a scheme: `dns:4317` is the host "dns".
  if (scheme === '' || /^\d+$/.test(rest)) return `dns:${withPort(endpoint)}`;
  const [, server, host] = /^\/\/([^/]*)\/(.*)$/s.exec(rest) ?? [];
  if (host === undefined) return `dns:${withPort(rest.replace(/^\/\//, ''))}`;
  return server === '' ? `dns:${withPort(host)}` : `dns://${server}/${withPort(host)}`;
}

/** Whether a target is an address of this machine. */
export function isLoopback(target: string): boolean {
  return /^dns:(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]):\d+$/.test(target);
}

function withoutEmptyAuthority(rest: string): string {
  return rest.startsWith('//') ? rest.slice(2) : rest;
}

/** differs from upstream: gRPC's own default is the port 443, where no collector listens without TLS. */
function withPort(host: string): string {
  return /:\d+$/.test(host) ? host : `${host}:${defaultPort}`;
}
