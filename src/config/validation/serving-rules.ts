// Rules for logging, tracing, TLS and addresses. Upstream: component-base logs and tracing, InitializeTLS in cmd/kubelet/app/server.go.
import { parseIp } from '../../api/k8s/ip-address.ts';
import { parseQuantity } from '../quantity.ts';
import { insecureCipherSuites, preferredCipherSuites, tlsGroupNames } from '../tls-names.ts';
import { quote, type Rule } from './context.ts';

export const loggingRules: Rule = ({ config, gates, fail }) => {
  const { format, vmodule, options } = config.logging;
  if (format === 'json' && !gates.LoggingBetaOptions) {
    fail('logging.format', '"json" needs the feature gate LoggingBetaOptions');
  }
  if (vmodule.length > 0 && format !== 'text') fail('logging.vmodule', 'works only with the format "text"');
  for (const [index, { filePattern }] of vmodule.entries()) {
    const path = `logging.vmodule[${index}]`;
    if (filePattern === '') fail(path, 'filePattern must not be empty');
    if (/[=,]/.test(filePattern)) fail(path, `filePattern ${quote(filePattern)} must not have "=" or ","`);
  }
  for (const name of ['text', 'json'] as const) {
    const size = parseQuantity(options[name].infoBufferSize);
    if (size === undefined) fail(`logging.options.${name}.infoBufferSize`, 'is not a quantity');
  }
};

const tracingSchemes: readonly string[] = ['dns:', 'unix:', 'unix-abstract:'];

export const tracingRules: Rule = ({ config, fail }) => {
  const endpoint = config.tracing?.endpoint;
  if (endpoint === undefined) return;
  const address = endpoint.includes('//') ? endpoint : `dns://${endpoint}`;
  if (!URL.canParse(address)) {
    fail('tracing.endpoint', `${quote(endpoint)} is not an address`);
    return;
  }
  const { host, protocol } = new URL(address);
  if (!tracingSchemes.includes(protocol)) {
    fail('tracing.endpoint', `${quote(endpoint)} must be an address, or a dns, unix or unix-abstract URL`);
  } else if (protocol !== 'dns:' && host !== '') {
    // differs from upstream: there the kubelet starts, and every export fails.
    fail('tracing.endpoint', `${quote(endpoint)} must have three slashes before the name of the socket`);
  }
};

const weak: ReadonlySet<string> = new Set(insecureCipherSuites);
const allSuites: ReadonlySet<string> = new Set([...preferredCipherSuites, ...insecureCipherSuites]);

export const tlsRules: Rule = ({ config, fail, warn }) => {
  const suites = config.tlsCipherSuites;
  for (const suite of suites) {
    if (!allSuites.has(suite)) fail('tlsCipherSuites', `${quote(suite)} is not a known cipher suite`);
    if (weak.has(suite)) warn(`The cipher suite ${suite} in tlsCipherSuites is weak.`);
  }
  if (suites.length > 0 && config.tlsMinVersion === 'VersionTLS13') {
    warn('tlsCipherSuites has no effect: the suites of TLS 1.3 cannot be configured.');
  }
};

const mostIds = 2 ** 16 - 1;

export const tlsGroupRules: Rule = ({ config, host, fail }) => {
  const path = 'tlsCurvePreferences';
  for (const [index, id] of config.tlsCurvePreferences.entries()) {
    const name = tlsGroupNames.get(id);
    if (id <= 0 || id > mostIds) fail(path, `${id} is out of range, must be from 1 to ${mostIds}`);
    else if (config.tlsCurvePreferences.indexOf(id) < index) fail(path, `${id} is specified twice`);
    else if (name === undefined) fail(path, `${id} is not a known key exchange mechanism`);
    else if (host?.hasTlsGroup?.(name) === false) {
      fail(path, `${id} (${name}) is not supported by the OpenSSL of this Node.js`);
    }
  }
};

export const addressRules: Rule = ({ config, fail, warn }) => {
  if (parseIp(config.address) === undefined) fail('address', `${quote(config.address)} is not an IP address`);
  for (const server of config.clusterDNS) {
    if (parseIp(server) === undefined)
      warn(`clusterDNS entry ${quote(server)} is not an IP address and is ignored.`);
  }
};
