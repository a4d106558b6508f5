import { expect, test } from 'vitest';
import { fileOfRelease, packagesOf } from './debian-index.ts';

const release = `Origin: Debian
MD5Sum:
 aaaa 11 main/binary-amd64/Packages.gz
SHA256:
 bbbb 22 main/binary-amd64/Packages
 cccc    33 main/binary-amd64/Packages.gz
-----BEGIN PGP SIGNATURE-----
 dddd 44 main/binary-arm64/Packages.gz
`;

test('finds the SHA256 of an index', () => {
  expect(fileOfRelease(release, 'main/binary-amd64/Packages.gz')).toEqual({
    path: 'main/binary-amd64/Packages.gz',
    sizeBytes: 33,
    sha256: 'cccc',
  });
});

test('finds nothing behind the list or without one', () => {
  expect(fileOfRelease(release, 'main/binary-arm64/Packages.gz')).toBeUndefined();
  expect(fileOfRelease('Origin: Debian\n', 'main/binary-amd64/Packages.gz')).toBeUndefined();
});

const index = `Package: runc-doc
Version: 1
Filename: pool/runc-doc.deb
Size: 1
SHA256: 11

Package: runc
Version: 1.3.6+ds1-1
Description: runs
 Package: containerd
Filename: pool/main/r/runc/runc_1.3.6+ds1-1_amd64.deb
Size: 6707796
SHA256: 8e95

Package: broken
Version: 1
`;

test('finds packages by their exact name', () => {
  expect([...packagesOf(index, ['runc', 'containerd', 'broken', 'run']).values()]).toEqual([
    {
      name: 'runc',
      version: '1.3.6+ds1-1',
      path: 'pool/main/r/runc/runc_1.3.6+ds1-1_amd64.deb',
      sizeBytes: 6_707_796,
      sha256: '8e95',
    },
  ]);
});
