// Judges the API server as this node reaches it. Pure.
import type { ApiServerFacts, ClusterFacts, DoctorSettings } from './facts.ts';
import { type Fact, type Finding, fail, ok, warn } from './finding.ts';

/** How many minor versions a kubelet may be older than the API server. */
const supportedSkew = 3;

export function judgeApiServer(
  cluster: Fact<ClusterFacts>,
  api: Fact<ApiServerFacts>,
  { version }: Pick<DoctorSettings, 'version'>,
): Finding {
  if (!cluster.isKnown) return warn('not called: the kubeconfig cannot be used', 'see kubeconfig');
  const { credentials, server, source } = cluster.value;
  if (source === 'standalone') return ok('none: standalone mode');
  if (!api.isKnown) return fail(`${server}: ${api.why}`, fixOf(api.why, server, credentials === 'plugin'));
  const { status, version: text } = api.value;
  if (status === 401)
    return fail(
      `${server} rejects the credentials (401)`,
      'join the cluster again, or correct the user of the kubeconfig',
    );
  if (status >= 500)
    return fail(
      `${server} responds with ${status}`,
      'read the log of the API server and of the load balancer in front of it',
    );
  if (status !== 200) return ok(`${server} responds (${status})`);
  return judgeApiVersion(`${server}, ${text ?? 'unknown version'}`, text, version);
}

function judgeApiVersion(finding: string, text: string | undefined, own: DoctorSettings['version']): Finding {
  const [, major, minor] = /^v([0-9]{1,4})\.([0-9]{1,4})/.exec(text ?? '') ?? [];
  if (major === undefined || Number(major) !== own.major) return ok(finding);
  const ahead = own.minor - Number(minor);
  if (ahead > 0)
    return warn(
      `${finding}, is older than this kubelet (v${own.major}.${own.minor}), which is not supported`,
      'upgrade the control plane first',
    );
  return -ahead > supportedSkew
    ? warn(
        `${finding}, is more than ${supportedSkew} minor versions newer than this kubelet (v${own.major}.${own.minor})`,
        'upgrade the kubelet',
      )
    : ok(finding);
}

/** By the words of Node.js, OpenSSL and the resolver. */
const fixes: readonly (readonly [words: RegExp, fix: string])[] = [
  [/ENOTFOUND|EAI_AGAIN/, 'correct the name in the kubeconfig, or /etc/resolv.conf'],
  [/ECONNREFUSED/, 'start the API server, or correct the port in the kubeconfig'],
  [
    /EHOSTUNREACH|ENETUNREACH|did not finish|no connection within/,
    'check routes and firewalls: curl -k SERVER/version',
  ],
  [/not yet valid|expired/, 'correct the clock of this machine, or renew the certificate of the API server'],
  [
    /self.signed|issuer|UNABLE_TO_VERIFY/,
    'correct certificate-authority in the kubeconfig: the server certificate is signed by another one',
  ],
  [
    /altname|ALTNAME/,
    'set tls-server-name in the kubeconfig, or add this name to the certificate of the API server',
  ],
];

function fixOf(why: string, server: string, hasPlugin: boolean): string {
  // A plugin that hangs looks like a server that does.
  if (hasPlugin && /exec plugin|did not finish/.test(why))
    return `run the command of users[].user.exec in the kubeconfig, which has to print credentials; then curl -k ${server.replace(/\/$/, '')}/version`;
  const fix = fixes.find(([words]) => words.test(why))?.[1];
  return (fix ?? 'check the kubeconfig and the network: curl -k SERVER/version').replace(
    'SERVER',
    server.replace(/\/$/, ''),
  );
}
