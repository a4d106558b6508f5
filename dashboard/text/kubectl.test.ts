import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { parseRoute } from '../data/route.ts';
import { kubectlCommand, shellQuote } from './kubectl.ts';

const hostile = [
  'web-1',
  '',
  'a b',
  "it's",
  '$(touch /tmp/x)',
  '`id`',
  'a;b|c&d>e<f',
  'a"b\\c',
  '-rf',
  "new\nline'",
  '\u001b]0;x\u0007',
  'rtl\u202eexe',
  '*?[a]~',
  '!history',
];

describe('shellQuote', () => {
  test.each(hostile.map((text) => [text]))('makes one argument of %j', (text) => {
    const script = `printf %s ${shellQuote(text)}`;
    const env = { ...process.env, LC_ALL: 'C.UTF-8' };
    expect(execFileSync('bash', ['-c', script], { encoding: 'utf8', env })).toBe(text);
  });

  test.each(hostile.map((text) => [text]))('puts no control into the clipboard for %j', (text) => {
    const codes = Array.from(shellQuote(text), (char) => char.charCodeAt(0));
    expect(codes.filter((code) => code < 0x20)).toEqual([]);
  });
});

describe('kubectlCommand', () => {
  test.each([
    ['#/pods', 'kubectl get pods -A -o wide --field-selector spec.nodeName=node-a'],
    ['#/pods/default/web', 'kubectl describe pod -n default web'],
    ['#/pods/default/web/spec', 'kubectl get pod -n default -o yaml web'],
    ['#/pods/default/web/events', 'kubectl events -n default --for pod/web'],
    ['#/pods/default/web/logs', 'kubectl logs -f --tail=1000 -n default --all-containers --prefix web'],
    ['#/pods/default/web/logs?c=app&previous=1', 'kubectl logs --previous --tail=1000 -n default -c app web'],
    ['#/pods/default/web/shell?c=app', 'kubectl exec -it -n default -c app web -- sh'],
    ['#/eviction', 'kubectl get --raw /api/v1/nodes/node-a/proxy/explain/eviction'],
    ['#/health', "kubectl get --raw '/api/v1/nodes/node-a/proxy/healthz?verbose'"],
    ['#/pods/default/%24(id)', "kubectl describe pod -n default '$(id)'"],
    ['#/pods/default/-rf', 'kubectl describe pod -n default -- -rf'],
  ])('writes for %s: %s', (hash, want) => {
    expect(kubectlCommand(parseRoute(hash), 'node-a')).toBe(want);
  });
});
