// A problem of the command line or the configuration. All problems are collected and reported together.

export interface Problem {
  /** A flag, a file with line and field, or a field with its flag. */
  readonly where: string;
  readonly message: string;
}

export function describeProblems(problems: readonly Problem[]): string {
  return problems.map(({ where, message }) => (where === '' ? message : `${where}: ${message}`)).join('\n');
}
