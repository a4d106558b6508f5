import { getCiphers } from 'node:tls';
import { expect, test } from 'vitest';
import { insecureCipherSuites, preferredCipherSuites } from '../../../src/config/tls-names.ts';
import { hasTlsGroup } from '../../../src/edge/http/tls-groups.ts';
import { tlsSettings } from '../../../src/server/tls-settings.ts';

const tls13 = 'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256';

test.each([
  ['', 'TLSv1.2'],
  ['VersionTLS10', 'TLSv1'],
  ['VersionTLS11', 'TLSv1.1'],
  ['VersionTLS12', 'TLSv1.2'],
  ['VersionTLS13', 'TLSv1.3'],
])('tlsMinVersion %s is %s', (tlsMinVersion, minVersion) => {
  const { ciphers, minVersion: got } = tlsSettings({
    tlsMinVersion,
    tlsCipherSuites: [],
    tlsCurvePreferences: [],
  });
  expect(got).toBe(minVersion);
  expect(ciphers.endsWith('@SECLEVEL=0')).toBe(/^TLSv1(\.1)?$/.test(minVersion));
});

test.each([
  [['TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384'], `${tls13}:ECDHE-RSA-AES256-GCM-SHA384`],
  [
    ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305', 'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256'],
    `${tls13}:ECDHE-RSA-CHACHA20-POLY1305`,
  ],
  [['TLS_AES_128_GCM_SHA256'], tls13],
])('tlsCipherSuites %s', (tlsCipherSuites, ciphers) => {
  expect(tlsSettings({ tlsMinVersion: '', tlsCipherSuites, tlsCurvePreferences: [] }).ciphers).toBe(ciphers);
});

test('by default offers suites with forward secrecy only, and none that is weak', () => {
  const { ciphers } = tlsSettings({ tlsMinVersion: '', tlsCipherSuites: [], tlsCurvePreferences: [] });
  const older = ciphers.slice(tls13.length + 1).split(':');
  expect(older).toHaveLength(10);
  expect(
    older.filter(
      (name) => !name.startsWith('ECDHE-') || /DES|RC4|SHA256$/.test(name.replace('GCM-SHA256', '')),
    ),
  ).toEqual([]);
});

test('every configurable suite maps to an OpenSSL name, which OpenSSL supports unless it dropped the suite', () => {
  const known = new Set(getCiphers());
  const gone = /RC4|3DES/;
  for (const name of [...preferredCipherSuites, ...insecureCipherSuites]) {
    const { ciphers } = tlsSettings({ tlsMinVersion: '', tlsCipherSuites: [name], tlsCurvePreferences: [] });
    const older = ciphers.slice(tls13.length + 1).toLowerCase();
    if (name.startsWith('TLS_AES') || name.startsWith('TLS_CHACHA')) expect(older).toBe('');
    else if (!gone.test(name)) expect(known.has(older), name).toBe(true);
    else expect(older).not.toBe('');
  }
});

test('tlsCurvePreferences become the groups of OpenSSL, in the order of their strength', () => {
  const groupsOf = (tlsCurvePreferences: readonly number[]): string | undefined =>
    tlsSettings({ tlsMinVersion: '', tlsCipherSuites: [], tlsCurvePreferences }).groups;
  expect([groupsOf([]), groupsOf([24, 29, 4588])]).toEqual([undefined, 'X25519MLKEM768:X25519:P-384']);
  expect(['P-256', 'P-384', 'P-521', 'X25519', 'none'].map(hasTlsGroup)).toEqual([
    true,
    true,
    true,
    true,
    false,
  ]);
});
