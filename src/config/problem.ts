// What is wrong with a command line or a configuration, gathered so that all of it is reported at once.

export interface Problem {
  /** Where: a flag, a file with path and line, or a field with its flag. */
  readonly where: string;
  readonly message: string;
}

export function describeProblems(problems: readonly Problem[]): string {
  return problems.map(({ where, message }) => (where === '' ? message : `${where}: ${message}`)).join('\n');
}
