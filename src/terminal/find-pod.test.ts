import { expect, test } from 'vitest';
import { describeError } from '../base/errors.ts';
import { findPod } from './find-pod.ts';

const pods = [
  'default/hello-node1',
  'default/web',
  'default/web-2',
  'kube-system/web',
  'kube-system/dns-x7',
  'a/dup-1',
  'a/dup-2',
].map((each) => {
  const [namespace = '', name = ''] = each.split('/');
  return { namespace, name };
});

const found = [
  ['hello-node1', undefined, 'default/hello-node1'],
  ['hello', undefined, 'default/hello-node1'],
  ['kube-system/web', undefined, 'kube-system/web'],
  ['web', 'default', 'default/web'],
  ['pod/dns-x7', undefined, 'kube-system/dns-x7'],
  ['pods/default/web', undefined, 'default/web'],
  ['default/hello', 'default', 'default/hello-node1'],
] as const;
for (const [text, namespace, pod] of found)
  test(`${text} in ${namespace ?? 'all namespaces'} is ${pod}`, () => {
    const { name, namespace: within } = findPod(pods, text, namespace);
    expect(`${within}/${name}`).toBe(pod);
  });

const problems = [
  ['web', undefined, 'web is ambiguous, it may be default/web, kube-system/web'],
  ['dup', undefined, 'dup is ambiguous, it may be a/dup-1, a/dup-2'],
  ['hell', undefined, 'no pod hell on this node; "kubelet ps" lists its pods'],
  ['hello', 'kube-system', 'no pod kube-system/hello on this node; "kubelet ps" lists its pods'],
  ['\u001b[31m', undefined, 'no pod \\x1b[31m on this node; "kubelet ps" lists its pods'],
  ['default/web', 'a', '--namespace is a, but the pod is default/web'],
] as const;
for (const [text, namespace, problem] of problems)
  test(problem, () => {
    let message = '';
    try {
      findPod(pods, text, namespace);
    } catch (err) {
      message = describeError(err);
    }
    expect(message).toBe(problem);
  });

test('lists at most ten candidates', () => {
  const many = Array.from({ length: 30 }, (_, at) => ({ namespace: 'a', name: `web-${at}` }));
  expect(() => findPod(many, 'web', undefined)).toThrow(/ and 20 more$/);
});
