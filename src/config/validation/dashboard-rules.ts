// Rules for the port of the node's page. Upstream has no counterpart.
import { isLoopback, parseIp } from '../../api/k8s/ip-address.ts';
import { quote, type Rule } from './context.ts';

const maxPort = 65_535;

export const dashboardRules: Rule = ({ config, flags, fail }) => {
  const { dashboardAddress, dashboardPort } = flags;
  if (dashboardPort < 0 || dashboardPort > maxPort) {
    fail('--dashboard-port', `${dashboardPort} is out of range, must be from 0 to ${maxPort}`);
  }
  const address = parseIp(dashboardAddress);
  if (dashboardPort === 0) return;
  if (!config.enableServer) fail('--dashboard-port', 'needs enableServer');
  if (address !== undefined && isLoopback(address)) return;
  const { authentication, authorization } = config;
  const where = `${quote(dashboardAddress)} is not a loopback address`;
  if (authentication.x509.clientCAFile === '' && !authentication.webhook.enabled) {
    fail(
      '--dashboard-address',
      `${where}, so that clients must be authenticated: it needs authentication.x509.clientCAFile or authentication.webhook.enabled`,
    );
  }
  if (authentication.anonymous.enabled && authorization.mode === 'AlwaysAllow') {
    fail(
      '--dashboard-address',
      `${where}, and every anonymous client could run commands in containers: it needs authentication.anonymous.enabled=false or authorization.mode=Webhook`,
    );
  }
};
