// Every generated file of the repository and how it is made. `make generate` writes them; `make drift` fails when a committed
// file differs from what its generator yields, or when a generated folder holds a file that no generator yields.
// To add one: a row in `generators`.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { referencePages } from '../src/config/docs.ts';
import { generatedBlocks, withBlock } from '../src/config/missing-docs.ts';
import { FakeNode } from '../test/simulate/fake-node.ts';
import { readTable, renderAll, renderedFolders } from './kubernetes/render.ts';
import { renderWiring } from './wiring.ts';

/** Texts by path from the root. */
type Files = Readonly<Record<string, string>>;

interface Generator {
  readonly name: string;
  /** The folder that holds nothing but this generator's files; absent when it shares its folder with others. */
  readonly folder?: string;
  readonly generate: (root: string) => Files | Promise<Files>;
}

export const generators: readonly Generator[] = [
  protocolCode(['proto/runtime'], 'src/api/cri/generated'),
  protocolCode(
    ['proto/deviceplugin', 'proto/pluginregistration', 'proto/podresources', 'proto/pods'],
    'src/api/kubelet/generated',
  ),
  protocolCode(['proto/csi'], 'src/api/csi/generated'),
  ...renderedFolders.map((folder) => ({
    name: `${folder} from the table of the Kubernetes API`,
    folder,
    generate: (root: string) => filesBelow(folder, renderAll(readTable(root))),
  })),
  {
    name: 'stores, writers and wake-ups of the assembled kubelet',
    generate: wiringPage,
  },
  {
    name: 'reference pages from the tables of src/config',
    generate: () =>
      Object.fromEntries(Object.entries(referencePages()).map(([name, text]) => [`docs/${name}`, text])),
  },
  {
    name: 'lists of settings without effect, between their markers in README.md and docs/parity.md',
    generate: (root) =>
      Object.fromEntries(
        Object.entries(generatedBlocks()).map(([path, block]) => [
          path,
          withBlock(readFileSync(join(root, path), 'utf8'), block),
        ]),
      ),
  },
];

function filesBelow(folder: string, files: Files): Files {
  return Object.fromEntries(Object.entries(files).filter(([path]) => path.startsWith(`${folder}/`)));
}

/** Wake-ups differ between a standalone node and a node of a cluster; the latter has them all. */
function wiringPage(): Files {
  const node = new FakeNode({ cluster: true, live: true });
  const kubelet = node.assembled();
  kubelet.close();
  node.api?.close();
  return { 'docs/wiring.md': renderWiring(kubelet) };
}

/** What buf.gen.yaml yields for folders of proto/. Offline: the plugin is a development dependency. */
function protocolCode(sources: readonly string[], folder: string): Generator {
  const generate = (root: string): Files => {
    const output = mkdtempSync(join(tmpdir(), 'kubelet-generate-'));
    try {
      const args = ['generate', ...sources.flatMap((source) => ['--path', source]), '--output', output];
      execFileSync(join(root, 'node_modules/.bin/buf'), args, { cwd: root });
      const files = Object.entries(textsBelow(output, 'generated'));
      return Object.fromEntries(
        files.map(([path, text]) => [`${folder}${path.slice('generated'.length)}`, text]),
      );
    } finally {
      rmSync(output, { recursive: true, force: true });
    }
  };
  return { name: `messages from ${sources.join(', ')}`, folder, generate };
}

function textsBelow(root: string, folder: string): Files {
  const top = join(root, folder);
  if (!existsSync(top)) return {};
  const entries = readdirSync(top, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const paths = entries.map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    paths.map((path) => [`${folder}${path.slice(top.length)}`, readFileSync(path, 'utf8')]),
  );
}

interface Drift {
  readonly path: string;
  /** Undefined for a file that must go. */
  readonly wanted: string | undefined;
}

/** The files in which the tree at `root` differs from what the generators yield, in the order of their paths. */
export async function findDrift(root: string, all: readonly Generator[]): Promise<readonly Drift[]> {
  const drift: Drift[] = [];
  for (const { folder, generate } of all) {
    const wanted = await generate(root);
    for (const [path, text] of Object.entries(wanted))
      if (!existsSync(join(root, path)) || readFileSync(join(root, path), 'utf8') !== text)
        drift.push({ path, wanted: text });
    if (folder === undefined) continue;
    for (const path of Object.keys(textsBelow(root, folder)))
      if (wanted[path] === undefined) drift.push({ path, wanted: undefined });
  }
  return drift.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}
