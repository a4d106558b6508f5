// All files that are generated from the table. `make generate` writes them, and so does `make kubernetes-types`, which works even
// if the kubelet does not compile without them.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { goDefaults } from './go-defaults.ts';
import { decodePath, renderDecodeSchema } from './render-decode.ts';
import { defaultsPath, renderDefaults } from './render-defaults.ts';
import { mergeKeysPath, renderMergeKeys } from './render-merge-keys.ts';
import { protobufPath, renderProtobuf } from './render-protobuf.ts';
import { renderTypes, typesFolder } from './render-types.ts';
import { parseTable, type Table, tablePath } from './table.ts';

/** Folders that hold nothing else. */
export const renderedFolders: readonly string[] = [typesFolder, dirname(decodePath), dirname(defaultsPath)];

/** Texts by path from the root. */
export function renderAll(table: Table): Readonly<Record<string, string>> {
  return {
    ...renderTypes(table),
    [mergeKeysPath]: renderMergeKeys(table),
    [protobufPath]: renderProtobuf(table),
    [decodePath]: renderDecodeSchema(table),
    [defaultsPath]: renderDefaults(table, goDefaults),
  };
}

export function readTable(root: string): Table {
  return parseTable(readFileSync(join(root, tablePath), 'utf8'));
}
