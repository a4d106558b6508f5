// The file /usr/share/doc/kubelet-ts/copyright: the licence of this project and of every npm package in the bundle. Pure.
// Reference: Debian Policy 12.5.
import type { RuntimeDependency } from './dependencies.ts';

interface LicensedPackage extends RuntimeDependency {
  /** The text of its licence file. Undefined if the package has none. */
  readonly text: string | undefined;
}

const apache = 'The Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0 on Debian systems.';

export function copyrightFile(packages: readonly LicensedPackage[]): string {
  const sections = packages.map(({ name, version, license, text }) => {
    if (text === undefined && license !== 'Apache-2.0')
      throw new Error(
        `the package ${name} has no licence file, and ${license} is not a licence of Debian's base-files`,
      );
    return `${name} ${version}, ${license}\n\n${text?.trim() ?? apache}`;
  });
  const own = `kubelet-ts, Apache-2.0\n\n${apache}`;
  const node = 'Node.js, MIT and others\n\nThe licences of Node.js and its parts are in LICENSE.nodejs.';
  return `${[own, node, ...sections].join(`\n\n${'-'.repeat(70)}\n\n`)}\n`;
}

/** The line comments at the beginning of a source file, for a package that has its licence there. */
export function leadingComment(source: string): string {
  const lines = source.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('//'));
  return lines
    .slice(0, end < 0 ? undefined : end)
    .map((line) => line.replace(/^\/\/ ?/, ''))
    .join('\n');
}
