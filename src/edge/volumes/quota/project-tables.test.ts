import { describe, expect, test } from 'vitest';
import {
  addProject,
  listedProjects,
  type ProjectTables,
  projectOfDirectory,
  removeDirectory,
} from './project-tables.ts';

const none: ProjectTables = { projects: '', names: '' };
const hand = '# by hand\n\n10:/srv/a\n10:/srv/b\n11:/srv/c:d\nnonsense\n';
const handNames = '# names\nsrv:10\nother:11\n#volume12:12\nno number:x\n';

describe('lookup', () => {
  test.each([
    ['a directory', '/srv/a', 10],
    ['another directory of the same project', '/srv/b', 10],
    ['a directory with a colon', '/srv/c:d', 11],
    ['a parent directory', '/srv', undefined],
    ['a prefix of a directory with a colon', '/srv/c', undefined],
    ['an empty path', '', undefined],
  ])('%s', (_, directory, project) => {
    expect(projectOfDirectory({ projects: hand, names: handNames }, directory)).toBe(project);
  });

  test('lists the IDs of both tables, but not those in comments', () => {
    expect([...listedProjects({ projects: hand, names: 'x:99\n#volume12:12\n' })]).toEqual([10, 11, 99]);
    expect([...listedProjects(none)]).toEqual([]);
  });
});

describe('changes', () => {
  test('adds the first volume to empty tables', () => {
    expect(addProject(none, '/pods/u/v', 1_048_577)).toEqual({
      projects: '1048577:/pods/u/v\n',
      names: 'volume1048577:1048577\n',
    });
  });

  test('keeps foreign lines, and completes a last line without newline', () => {
    const tables = { projects: hand.slice(0, -1), names: handNames.slice(0, -1) };
    expect(addProject(tables, '/v', 20)).toEqual({
      projects: `${hand}20:/v\n`,
      names: `${handNames}volume20:20\n`,
    });
  });

  test('keeps the name of a named project', () => {
    expect(addProject({ projects: '', names: 'mine:20\n' }, '/v', 20).names).toBe('mine:20\n');
  });

  test('removing undoes adding', () => {
    const tables = { projects: hand, names: handNames };
    expect(removeDirectory(addProject(tables, '/v', 20), '/v')).toEqual(tables);
  });

  test('keeps a name while another directory has the project', () => {
    const { projects, names } = removeDirectory({ projects: hand, names: handNames }, '/srv/a');
    expect(projects).not.toContain('/srv/a');
    expect(names).toBe(handNames);
  });

  test('ignores a directory that is not listed', () => {
    const tables = { projects: hand, names: handNames };
    expect(removeDirectory(tables, '/srv')).toEqual(tables);
  });
});
