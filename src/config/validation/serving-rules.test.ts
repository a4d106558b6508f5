import { describe, expect, test } from 'vitest';
import { type Case, disagreement, type Situation, titleOf } from './cases.ts';

const runCases = (cases: readonly Case[]): void => {
  for (const [name, situation, ...expected] of cases) {
    test(titleOf(name, expected), async () => expect(await disagreement(situation, expected)).toBe(''));
  }
};

describe('images', () => {
  const gc = (low: number, high: number): Situation => ({
    set: { imageGCLowThresholdPercent: low, imageGCHighThresholdPercent: high },
  });
  const age = (oldest: string, youngest: string): Situation => ({
    set: { imageMaximumGCAge: oldest, imageMinimumGCAge: youngest },
  });
  const verify = (policy: string, ...allowlist: readonly string[]): Situation => ({
    on: ['KubeletEnsureSecretPulledImages'],
    set: { imagePullCredentialsVerificationPolicy: policy, preloadedImagesVerificationAllowlist: allowlist },
  });
  const allowed = (pattern: string): Situation => verify('NeverVerifyAllowlistedImages', pattern);
  runCases([
    ['thresholds 1 and 2', gc(1, 2)],
    ['equal thresholds', gc(5, 5), 'imageGCLowThresholdPercent (--image-gc-low-threshold): 5 must be below'],
    ['thresholds the wrong way round', gc(6, 5), 'which is 5'],
    ['ages', age('3m', '2m')],
    ['no oldest age', age('0s', '2m')],
    ['a negative age', age('-1s', '2m'), 'imageMaximumGCAge: -1s is negative'],
    [
      'equal ages',
      age('2m', '2m'),
      'imageMaximumGCAge: 2m0s must be longer than imageMinimumGCAge, which is 2m0s',
    ],
    ['parallel pulls', { set: { maxParallelImagePulls: 5 } }],
    ['parallel pulls, expected twice', { set: { maxParallelImagePulls: 5, serializeImagePulls: false } }],
    ['one parallel pull in series', { set: { maxParallelImagePulls: 1, serializeImagePulls: true } }],
    [
      'parallel pulls in series',
      { set: { maxParallelImagePulls: 2, serializeImagePulls: true } },
      'maxParallelImagePulls: 2 needs',
    ],
    ['verification NeverVerify', verify('NeverVerify')],
    ['verification AlwaysVerify', verify('AlwaysVerify')],
    ['verification by default', verify('')],
    ['verification Sometimes', verify('Sometimes'), '"Sometimes" is not allowed'],
    [
      'an allowlist under another policy',
      verify('NeverVerify', 'a.io/b'),
      'preloadedImagesVerificationAllowlist',
    ],
    ['an allowlisted image', allowed('docker.io/library/nginx')],
    ['an allowlisted image with a port', allowed('localhost:5000/a/b')],
    ['an allowlisted registry', allowed('registry.k8s.io/*')],
    ['an allowlisted short name', allowed('nginx')],
    ['an allowlisted tag', allowed('a.io/b:1'), 'is not an image name'],
    ['an allowlisted digest', allowed(`a.io/b@sha256:${'0'.repeat(64)}`), 'is not an image name'],
    ['an allowlisted docker.io image in short', allowed('docker.io/nginx')],
    ['an allowlisted name with capitals', allowed('a.io/B'), 'is not an image name'],
    ['an allowlisted wildcard inside', allowed('a.io/*/b'), 'has a wildcard'],
    ['an allowlisted bare wildcard', allowed('/*'), 'names no registry'],
    ['an allowlisted blank', allowed(' a.io/b'), 'has leading or trailing whitespace'],
    ['an allowlisted nothing', allowed(''), 'is empty'],
  ]);
});

describe('TLS and addresses', () => {
  runCases([
    ['a cipher suite', { set: { tlsCipherSuites: ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256'] } }],
    ['a weak cipher suite, with a warning', { set: { tlsCipherSuites: ['TLS_RSA_WITH_AES_128_CBC_SHA'] } }],
    [
      'a legacy name of a cipher suite',
      { set: { tlsCipherSuites: ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305'] } },
    ],
    [
      'an OpenSSL name',
      { set: { tlsCipherSuites: ['AES128-SHA'] } },
      'tlsCipherSuites (--tls-cipher-suites): "AES128-SHA"',
    ],
    ['an IPv6 address', { set: { address: '::' } }],
    [
      'an address that is a name',
      { set: { address: 'localhost' } },
      'address (--address): "localhost" is not an IP',
    ],
    ['a DNS server that is a name, with a warning', { set: { clusterDNS: ['dns'] } }],
  ]);
});

describe('logging and tracing', () => {
  const vmodule = (filePattern: string, format = 'text'): Situation => ({
    set: { logging: { format, vmodule: [{ filePattern, verbosity: 3 }] } },
  });
  const endpoint = (address: string): Situation => ({ set: { tracing: { endpoint: address } } });
  runCases([
    ['a file pattern', vmodule('kubelet*')],
    ['a file pattern in JSON', vmodule('a', 'json'), 'logging.vmodule (--vmodule): works only'],
    ['an empty file pattern', vmodule(''), 'logging.vmodule[0] (--vmodule): filePattern must not be empty'],
    ['a file pattern with =', vmodule('a=b'), 'must not have "=" or ","'],
    ['a file pattern with a comma', vmodule('a,b'), 'must not have "=" or ","'],
    ['a flush frequency in nanoseconds', { set: { logging: { flushFrequency: 5000000000 } } }],
    ['no tracing endpoint', { set: { tracing: {} } }],
    ['a host and port', endpoint('localhost:4317')],
    ['a dns URL', endpoint('dns://8.8.8.8/collector:4317')],
    ['a unix URL', endpoint('unix:///run/otel.sock')],
    ['an abstract unix URL', endpoint('unix-abstract:///otel')],
    ['a unix URL with a host', endpoint('unix://run/otel.sock'), 'must have three slashes'],
    ['an http URL', endpoint('http://localhost:4317'), 'tracing.endpoint: "http://localhost:4317" must be'],
    [
      'a broken URL',
      endpoint('dn%2s://localhost:4317'),
      'tracing.endpoint: "dn%2s://localhost:4317" is not an address',
    ],
  ]);
});

describe('the port of the node’s page', () => {
  const argv = (...flags: readonly string[]): Situation => ({ argv: flags });
  const remote = ['--dashboard-port=4194', '--dashboard-address=10.0.0.1'];
  const withCertificates = { x509: { clientCAFile: '/ca.crt' } };
  runCases([
    ['a port', argv('--dashboard-port=4194')],
    ['a port by its former name', argv('--cadvisor-port=4194')],
    ['no port at any address', argv('--dashboard-address=0.0.0.0')],
    ['an IPv6 loopback address', argv('--dashboard-port=4194', '--dashboard-address=::1')],
    ['another loopback address', argv('--dashboard-port=4194', '--dashboard-address=127.9.9.9')],
    ['a port above the range', argv('--dashboard-port=65536'), '--dashboard-port: 65536 is out of range'],
    ['a negative port', argv('--cadvisor-port=-1'), '--dashboard-port: -1 is out of range'],
    [
      'a port without the server',
      { argv: ['--dashboard-port=4194'], set: { enableServer: false } },
      '--dashboard-port: needs enableServer',
    ],
    ['another address with client certificates', { argv: remote, set: { authentication: withCertificates } }],
    [
      'another address without authentication',
      { argv: remote, set: { authentication: { webhook: { enabled: false } } } },
      'clients must be authenticated',
    ],
    [
      'another address where anonymous clients may do everything',
      {
        argv: remote,
        set: {
          authentication: { ...withCertificates, anonymous: { enabled: true } },
          authorization: { mode: 'AlwaysAllow' },
        },
      },
      'every anonymous client',
    ],
  ]);
});
