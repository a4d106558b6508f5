// The npm packages whose binaries the package contains, pinned by hash. Pure.
import type { Architecture } from './control.ts';

export interface NpmPackage {
  readonly name: string;
  readonly version: string;
  /** As in package-lock.json: sha512-… */
  readonly integrity: string;
}

export const npmArchitecture: Readonly<Record<Architecture, string>> = { amd64: 'x64', arm64: 'arm64' };

/** Docs: docs/decisions/0017-package.md. */
export const nodeRelease: {
  readonly version: string;
  readonly integrity: Readonly<Record<Architecture, string>>;
} = {
  version: '22.23.3',
  integrity: {
    amd64: 'sha512-qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==',
    arm64: 'sha512-l3DAHZreylo+p9QXDtsOrjG2JXJqVzYXnAGmIQNOUNARcMppTO2cmewVQP+36tjJnSE+dzpMNtgW+c3oiDvXtA==',
  },
};

export function nodePackage(architecture: Architecture): NpmPackage {
  return {
    name: `node-linux-${npmArchitecture[architecture]}`,
    version: nodeRelease.version,
    integrity: nodeRelease.integrity[architecture],
  };
}

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly optional?: boolean;
}

/** The part of package-lock.json that is read. */
export interface PackageLock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/** The package with koffi's native binary for this architecture. */
export function koffiBinaryPackage(lock: PackageLock, architecture: Architecture): NpmPackage {
  const name = `@koromix/koffi-linux-${npmArchitecture[architecture]}`;
  const { version, integrity } = lock.packages[`node_modules/${name}`] ?? {};
  if (version === undefined || integrity === undefined)
    throw new Error(`package-lock.json has no ${name} with its hash`);
  return { name, version, integrity };
}

export interface RuntimeDependency {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

/** The npm packages that the bundle may contain, in the order of their names. */
export function runtimeDependencies(lock: PackageLock): readonly RuntimeDependency[] {
  return Object.entries(lock.packages).flatMap(([path, { version = '', license = '', ...kind }]) => {
    if (path === '' || kind.dev || kind.devOptional || kind.optional) return [];
    return [{ name: path.replace(/^.*node_modules\//, ''), version, license }];
  });
}
