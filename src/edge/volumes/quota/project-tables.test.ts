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

describe('what the tables say', () => {
  test.each([
    ['a directory', '/srv/a', 10],
    ['another of the same project', '/srv/b', 10],
    ['one with a colon', '/srv/c:d', 11],
    ['the beginning of one', '/srv', undefined],
    ['one that only looks like it', '/srv/c', undefined],
    ['nothing', '', undefined],
  ])('%s', (_, directory, project) => {
    expect(projectOfDirectory({ projects: hand, names: handNames }, directory)).toBe(project);
  });

  test('every ID of either table counts as given, those in comments do not', () => {
    expect([...listedProjects({ projects: hand, names: 'x:99\n#volume12:12\n' })]).toEqual([10, 11, 99]);
    expect([...listedProjects(none)]).toEqual([]);
  });
});

describe('changes', () => {
  test('the first volume of a machine without tables', () => {
    expect(addProject(none, '/pods/u/v', 1_048_577)).toEqual({
      projects: '1048577:/pods/u/v\n',
      names: 'volume1048577:1048577\n',
    });
  });

  test('lines of others stay as they are, also a last one without its end', () => {
    const tables = { projects: hand.slice(0, -1), names: handNames.slice(0, -1) };
    expect(addProject(tables, '/v', 20)).toEqual({
      projects: `${hand}20:/v\n`,
      names: `${handNames}volume20:20\n`,
    });
  });

  test('a project that has a name keeps it', () => {
    expect(addProject({ projects: '', names: 'mine:20\n' }, '/v', 20).names).toBe('mine:20\n');
  });

  test('what came goes again, and nothing else', () => {
    const tables = { projects: hand, names: handNames };
    expect(removeDirectory(addProject(tables, '/v', 20), '/v')).toEqual(tables);
  });

  test('a name stays while another directory is of its project', () => {
    const { projects, names } = removeDirectory({ projects: hand, names: handNames }, '/srv/a');
    expect(projects).not.toContain('/srv/a');
    expect(names).toBe(handNames);
  });

  test('a directory that is not listed: nothing changes', () => {
    const tables = { projects: hand, names: handNames };
    expect(removeDirectory(tables, '/srv')).toEqual(tables);
  });
});
