// Maps tlsMinVersion, tlsCipherSuites and tlsCurvePreferences to the names of Node and OpenSSL. Pure. Upstream: cliflag.TLSVersion, TLSCipherSuites.

type TlsVersion = 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';

export interface TlsConfiguration {
  readonly tlsMinVersion: string;
  readonly tlsCipherSuites: readonly string[];
  readonly tlsCurvePreferences: readonly number[];
}

export interface TlsSettings {
  readonly minVersion: TlsVersion;
  readonly ciphers: string;
  readonly groups: string | undefined;
}

const versions: Readonly<Record<string, TlsVersion>> = {
  VersionTLS10: 'TLSv1',
  VersionTLS11: 'TLSv1.1',
  VersionTLS12: 'TLSv1.2',
  VersionTLS13: 'TLSv1.3',
};

/** Not configurable, as in Go: TLS 1.3 has no weak suites. */
const tls13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

/** IANA names to OpenSSL names, best first. */
const suites: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: 'ECDHE-ECDSA-AES128-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: 'ECDHE-RSA-AES128-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: 'ECDHE-ECDSA-AES256-SHA',
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: 'ECDHE-RSA-AES256-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256: 'ECDHE-ECDSA-AES128-SHA256',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256: 'ECDHE-RSA-AES128-SHA256',
  TLS_RSA_WITH_AES_128_GCM_SHA256: 'AES128-GCM-SHA256',
  TLS_RSA_WITH_AES_256_GCM_SHA384: 'AES256-GCM-SHA384',
  TLS_RSA_WITH_AES_128_CBC_SHA256: 'AES128-SHA256',
  TLS_RSA_WITH_AES_128_CBC_SHA: 'AES128-SHA',
  TLS_RSA_WITH_AES_256_CBC_SHA: 'AES256-SHA',
  TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA: 'ECDHE-RSA-DES-CBC3-SHA',
  TLS_RSA_WITH_3DES_EDE_CBC_SHA: 'DES-CBC3-SHA',
  TLS_ECDHE_ECDSA_WITH_RC4_128_SHA: 'ECDHE-ECDSA-RC4-SHA',
  TLS_ECDHE_RSA_WITH_RC4_128_SHA: 'ECDHE-RSA-RC4-SHA',
  TLS_RSA_WITH_RC4_128_SHA: 'RC4-SHA',
};

/** Go's defaults: suites with forward secrecy. */
const defaults = Object.keys(suites).filter(
  (name) => name.startsWith('TLS_ECDHE_') && /(GCM|POLY|CBC_SHA$)/.test(name) && !name.includes('3DES'),
);

/** IANA numbers to OpenSSL names, best first: Go ignores the order of the configuration too. */
const groups: readonly (readonly [id: number, name: string])[] = [
  [4588, 'X25519MLKEM768'],
  [4587, 'SecP256r1MLKEM768'],
  [4589, 'SecP384r1MLKEM1024'],
  [29, 'X25519'],
  [23, 'P-256'],
  [24, 'P-384'],
  [25, 'P-521'],
];

export function tlsSettings(config: TlsConfiguration): TlsSettings {
  const minVersion = versions[config.tlsMinVersion] ?? 'TLSv1.2';
  const chosen = config.tlsCipherSuites.length === 0 ? defaults : config.tlsCipherSuites;
  const older = [...new Set(chosen.flatMap((name) => suites[name] ?? []))];
  // OpenSSL disables those versions at its default security level.
  const level = minVersion === 'TLSv1' || minVersion === 'TLSv1.1' ? ['@SECLEVEL=0'] : [];
  const chosenGroups = groups.filter(([id]) => config.tlsCurvePreferences.includes(id));
  return {
    minVersion,
    groups: chosenGroups.length === 0 ? undefined : chosenGroups.map(([, name]) => name).join(':'),
    ciphers: [...tls13, ...older, ...level].join(':'),
  };
}
