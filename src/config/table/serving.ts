// The fields enableServer to authorization, in upstream's order: static pods, the HTTPS server, its certificate and access.
import {
  boolean,
  choice,
  duration,
  int32,
  integers,
  object,
  stringListMap,
  strings,
  text,
} from '../schema.ts';
import { preferredCipherSuites, tlsVersionNames } from '../tls-names.ts';

export const serving = {
  enableServer: boolean({
    default: true,
    keepsZero: true,
    flag: 'enable-server',
    doc: 'Serve the HTTPS API (pods, logs, exec, stats, metrics). The read-only port has its own switch, readOnlyPort.',
  }),
  staticPodPath: text({
    path: true,
    flag: 'pod-manifest-path',
    doc: 'Directory of static pod manifests, or one manifest file. Names that start with a dot are skipped.',
  }),
  podLogsDir: text({
    default: '/var/log/pods',
    path: true,
    doc: 'Root of the log directories of pods. Must be an absolute, normalized ASCII path.',
  }),
  syncFrequency: duration({
    default: '1m',
    flag: 'sync-frequency',
    doc: 'Longest time between two syncs of a running pod.',
  }),
  fileCheckFrequency: duration({
    default: '20s',
    flag: 'file-check-frequency',
    doc: 'How often the static pod path is rescanned, in addition to file events, which trigger a scan at once.',
  }),
  httpCheckFrequency: duration({
    default: '20s',
    flag: 'http-check-frequency',
    doc: 'How often staticPodURL is fetched.',
  }),
  staticPodURL: text({
    flag: 'manifest-url',
    doc: 'URL that serves a pod or a list of pods to run as static pods.',
  }),
  staticPodURLHeader: stringListMap({
    flag: 'manifest-url-header',
    doc: 'HTTP headers of the requests to staticPodURL, each with one or more values.',
  }),
  address: text({
    default: '0.0.0.0',
    flag: { name: 'address', type: 'ip' },
    doc: 'IP address the server listens on. 0.0.0.0 or :: means every interface.',
  }),
  port: int32({
    default: 10250,
    flag: 'port',
    min: 1,
    max: 65535,
    doc: 'Port of the HTTPS server.',
  }),
  readOnlyPort: int32({
    legacyDefault: 10255,
    flag: 'read-only-port',
    min: 0,
    max: 65535,
    doc: 'Port of the read-only server without TLS and authentication. 0 disables it.',
  }),
  tlsCertFile: text({
    path: true,
    flag: 'tls-cert-file',
    doc: "The server's certificate in PEM, followed by intermediates. If this and tlsPrivateKeyFile are empty, the kubelet creates a self-signed pair in --cert-dir.",
  }),
  tlsPrivateKeyFile: text({
    path: true,
    flag: 'tls-private-key-file',
    doc: 'Private key of tlsCertFile in PEM.',
  }),
  tlsCipherSuites: strings({
    flag: { name: 'tls-cipher-suites', completes: preferredCipherSuites },
    doc: "Cipher suites of the server up to TLS 1.2, by their IANA names. Empty means Go's defaults, suites with forward secrecy. The suites of TLS 1.3 cannot be configured.",
  }),
  tlsCurvePreferences: integers({
    doc: "Key exchange mechanisms of the server, by the numbers of IANA's registry. The order is ignored. Empty means the defaults of OpenSSL.",
  }),
  tlsMinVersion: choice(['', ...tlsVersionNames], {
    flag: 'tls-min-version',
    defaultNote: 'empty means VersionTLS12',
    doc: 'Lowest TLS version the server accepts.',
  }),
  rotateCertificates: boolean({
    flag: 'rotate-certificates',
    doc: 'Request a new client certificate from the API server before the current one expires.',
  }),
  serverTLSBootstrap: boolean({
    flag: 'rotate-server-certificates',
    gate: 'RotateKubeletServerCertificate',
    doc: 'Request the serving certificate from the API server instead of self-signing it, and rotate it before it expires.',
  }),
  authentication: object(
    {
      x509: object(
        {
          clientCAFile: text({
            path: true,
            flag: 'client-ca-file',
            doc: 'PEM bundle of certificate authorities. A client certificate signed by one of them authenticates its CommonName as user and its Organizations as groups.',
          }),
        },
        { doc: 'Authentication by client certificates.' },
      ),
      webhook: object(
        {
          enabled: boolean({
            default: true,
            keepsZero: true,
            legacyDefault: false,
            flag: 'authentication-token-webhook',
            doc: 'Authenticate bearer tokens with the TokenReview API.',
          }),
          cacheTTL: duration({
            default: '2m',
            flag: 'authentication-token-webhook-cache-ttl',
            doc: 'How long the result of a TokenReview is cached.',
          }),
        },
        { doc: 'Authentication by bearer tokens.' },
      ),
      anonymous: object(
        {
          enabled: boolean({
            keepsZero: true,
            legacyDefault: true,
            flag: 'anonymous-auth',
            doc: 'Accept requests without credentials as system:anonymous in the group system:unauthenticated.',
          }),
        },
        { doc: 'Requests without credentials.' },
      ),
    },
    { doc: 'How requests to the server are authenticated.' },
  ),
  authorization: object(
    {
      mode: choice(['Webhook', 'AlwaysAllow'], {
        default: 'Webhook',
        legacyDefault: 'AlwaysAllow',
        flag: 'authorization-mode',
        doc: 'Webhook uses the SubjectAccessReview API; AlwaysAllow permits every authenticated request.',
      }),
      webhook: object(
        {
          cacheAuthorizedTTL: duration({
            default: '5m',
            flag: 'authorization-webhook-cache-authorized-ttl',
            doc: 'How long an allowed result is cached.',
          }),
          cacheUnauthorizedTTL: duration({
            default: '30s',
            flag: 'authorization-webhook-cache-unauthorized-ttl',
            doc: 'How long a denied result is cached.',
          }),
        },
        { doc: 'Caching of the Webhook mode.' },
      ),
    },
    { doc: 'How authenticated requests are authorized.' },
  ),
};
