// The tables of quota projects that system tools use: /etc/projects (`id:directory`) and /etc/projid (`name:id`).
// Pure: text in, text out; foreign lines keep their content and order. Upstream: pkg/volume/util/fsquota.

export interface ProjectTables {
  readonly projects: string;
  readonly names: string;
}

/** The first ID for volumes, above those that administrators assign. */
export const firstProject = 1_048_577;

interface Entry {
  readonly line: string;
  readonly project: number | undefined;
  readonly directory: string | undefined;
}

export function projectOfDirectory({ projects }: ProjectTables, directory: string): number | undefined {
  return directories(projects).find((entry) => entry.directory === directory)?.project;
}

/** All IDs in both tables. */
export function listedProjects({ projects, names }: ProjectTables): ReadonlySet<number> {
  const all = [...directories(projects), ...projectNames(names)];
  return new Set(all.flatMap(({ project }) => project ?? []));
}

export function addProject(tables: ProjectTables, directory: string, project: number): ProjectTables {
  const named = projectNames(tables.names).some((entry) => entry.project === project);
  return {
    projects: `${withNewline(tables.projects)}${project}:${directory}\n`,
    names: named ? tables.names : `${withNewline(tables.names)}volume${project}:${project}\n`,
  };
}

/** Removes the project's name with its last directory. */
export function removeDirectory(tables: ProjectTables, directory: string): ProjectTables {
  const all = directories(tables.projects);
  const removed = all.filter((entry) => entry.directory === directory);
  const kept = all.filter((entry) => entry.directory !== directory);
  const unused = new Set(removed.map(({ project }) => project));
  for (const { project } of kept) unused.delete(project);
  const names = projectNames(tables.names).filter(
    ({ project }) => project === undefined || !unused.has(project),
  );
  return { projects: text(kept), names: text(names) };
}

function directories(table: string): readonly Entry[] {
  return lines(table).map((line) => {
    const found = /^(\d+):(.*)$/.exec(line);
    return { line, project: found === null ? undefined : Number(found[1]), directory: found?.[2] };
  });
}

function projectNames(table: string): readonly Entry[] {
  return lines(table).map((line) => {
    const found = /^[^#:][^:]*:(\d+)$/.exec(line);
    return { line, project: found === null ? undefined : Number(found[1]), directory: undefined };
  });
}

function lines(table: string): readonly string[] {
  return table === '' ? [] : withNewline(table).slice(0, -1).split('\n');
}

function text(entries: readonly Entry[]): string {
  return entries.map(({ line }) => `${line}\n`).join('');
}

function withNewline(table: string): string {
  return table === '' || table.endsWith('\n') ? table : `${table}\n`;
}
