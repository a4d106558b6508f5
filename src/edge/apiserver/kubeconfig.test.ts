// Kubeconfig text in, access or the error out.
import { describe, expect, test } from 'vitest';
import { parseKubeconfig } from './kubeconfig.ts';

interface Parts {
  readonly cluster?: object;
  readonly user?: object;
  readonly more?: object;
}

function text({ cluster = {}, user = {}, more = {} }: Parts = {}): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    contexts: [
      { name: 'there', context: { cluster: 'other', user: 'other' } },
      { name: 'here', context: { cluster: 'c', user: 'u' } },
    ],
    clusters: [{ name: 'c', cluster: { server: 'https://10.0.0.1:6443', ...cluster } }],
    users: [{ name: 'u', user }],
    ...more,
  });
}

describe('parseKubeconfig reads', () => {
  test('the server of the current context', () => {
    const access = parseKubeconfig(text(), '/etc');
    expect(access.server.href).toBe('https://10.0.0.1:6443/');
    expect(access.insecureSkipTlsVerify).toBe(false);
    expect(access.clientCertificate).toBeUndefined();
  });

  test('the YAML that kubeadm writes, with paths relative to the file', () => {
    const yaml = `apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority: pki/ca.crt
    server: https://lb.example:6443/base
    tls-server-name: kubernetes
    proxy-url: http://proxy:3128
  name: default-cluster
contexts:
- context: {cluster: default-cluster, user: default-auth, namespace: default}
  name: default-context
current-context: default-context
preferences: {}
users:
- name: default-auth
  user:
    client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem
    client-key: /var/lib/kubelet/pki/kubelet-client-current.pem
`;
    const access = parseKubeconfig(yaml, '/etc/kubernetes');
    const pem = '/var/lib/kubelet/pki/kubelet-client-current.pem';
    expect(access).toMatchObject({
      ca: { file: '/etc/kubernetes/pki/ca.crt' },
      tlsServerName: 'kubernetes',
      clientCertificate: { cert: { file: pem }, key: { file: pem } },
    });
    expect(access.proxyUrl?.href).toBe('http://proxy:3128/');
    expect(access.server.pathname).toBe('/base');
  });

  test('inline data in preference to files, and never prints secrets', () => {
    const data = (value: string): string => Buffer.from(value).toString('base64');
    const user = {
      'client-certificate': '/x',
      'client-certificate-data': data('CERT'),
      'client-key-data': data('KEY'),
      token: 'abc',
      tokenFile: 'token',
      username: 'me',
      password: 'pw',
    };
    const access = parseKubeconfig(text({ user }), '/etc');
    const { cert, key } = access.clientCertificate ?? {};
    expect(cert !== undefined && 'pem' in cert ? cert.pem.reveal() : cert).toBe('CERT');
    expect(key !== undefined && 'pem' in key ? key.pem.reveal() : key).toBe('KEY');
    expect(access.token?.reveal()).toBe('abc');
    expect(access.tokenFile).toBe('/etc/token');
    expect(access.basic?.reveal()).toBe(data('me:pw'));
    expect(JSON.stringify(access)).not.toMatch(/abc|KEY|CERT/);
  });

  test('exec plugins, and resolves a command with a slash against the directory of the file', () => {
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: './get-token',
      args: ['--now'],
      env: [{ name: 'A', value: '1' }],
      interactiveMode: 'Never',
      provideClusterInfo: true,
    };
    expect(parseKubeconfig(text({ user: { exec } }), '/etc').exec).toMatchObject({
      command: '/etc/get-token',
      args: ['--now'],
      env: { A: '1' },
      provideClusterInfo: true,
    });
  });
});

describe('parseKubeconfig rejects', () => {
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'x' };
  const cases: readonly (readonly [string, string, string])[] = [
    ['invalid YAML', '{', 'neither YAML nor JSON'],
    ['a file that is not an object', '[]', 'the file is not an object'],
    ['another kind', text({ more: { kind: 'Pod' } }), 'its kind is Pod'],
    ['no current context', text({ more: { 'current-context': '' } }), 'no current-context'],
    ['a missing context', text({ more: { 'current-context': 'x' } }), 'no context "x"'],
    ['a missing cluster', text({ more: { clusters: [] } }), 'no cluster "c"'],
    ['a missing user', text({ more: { users: null } }), 'no user "u"'],
    ['no server', text({ cluster: { server: '' } }), 'server is not a URL'],
    ['an unsupported protocol', text({ cluster: { server: 'ftp://x' } }), 'protocol ftp:'],
    ['a key without its certificate', text({ user: { 'client-key': 'x' } }), 'must be set together'],
    [
      'a CA together with insecure-skip-tls-verify',
      text({ cluster: { 'certificate-authority': 'x', 'insecure-skip-tls-verify': true } }),
      'mutually exclusive',
    ],
    ['an unknown exec version', text({ user: { exec: { ...exec, apiVersion: 'v9' } } }), 'apiVersion "v9"'],
    ['exec without a command', text({ user: { exec: { ...exec, command: '' } } }), 'no command'],
    [
      'exec that needs a terminal',
      text({ user: { exec: { ...exec, interactiveMode: 'Always' } } }),
      'needs a terminal',
    ],
  ];
  for (const [name, given, why] of cases)
    test(name, () => expect(() => parseKubeconfig(given, '/etc')).toThrow(why));

  test('without quoting the text it could not parse', () => {
    expect(() => parseKubeconfig('users: [{token: secret-abc', '/etc')).toThrow(/^(?!.*secret-abc)/);
  });
});
