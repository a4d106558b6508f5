import { expect, test } from 'vitest';
import { parseArgs } from './command-line/parse-args.ts';
import { flagValues } from './flagz.ts';

const args = parseArgs([
  '--max-pods=7',
  '--manifest-url-header=Authorization:secret',
  '--manifest-url=https://me:geheim@host/pods?token=secret',
  '--eviction-hard=nodefs.available<5%,memory.available<1Gi',
  '--cluster-dns=1.1.1.1,2.2.2.2',
  '--register-with-taints=a=b:NoSchedule',
  '--vmodule=a=1,b=2',
  '--reserved-memory=1:memory=1Gi;0:memory=2Gi',
  '--feature-gates=ImageVolume=true',
  '--enable-server=false',
  '--sync-frequency=90s',
]);

test('shows every flag with its value from the command line or its default', () => {
  const values = Object.fromEntries(flagValues(args));
  // Upstream's 131 and sixteen that upstream does not have.
  expect(Object.keys(values)).toHaveLength(147);
  expect(values).toMatchObject({
    'max-pods': '7',
    'eviction-hard': 'memory.available<1Gi,nodefs.available<5%',
    'cluster-dns': '[1.1.1.1,2.2.2.2]',
    'register-with-taints': 'a=b:NoSchedule',
    vmodule: 'a=1,b=2',
    'reserved-memory': '0:memory=2Gi,1:memory=1Gi',
    'feature-gates': 'ImageVolume=true',
    'enable-server': 'false',
    'sync-frequency': '1m30s',
    'read-only-port': '10255',
    'root-dir': '/var/lib/kubelet',
    version: 'false',
    v: '0',
  });
});

test('masks values that may be credentials', () => {
  const values = flagValues(args);
  expect(values).toContainEqual(['manifest-url-header', 'CLASSIFIED']);
  expect(values).toContainEqual(['manifest-url', 'https://<masked>@host/pods?<masked>']);
  expect(JSON.stringify(values)).not.toMatch(/secret|geheim/);
});
