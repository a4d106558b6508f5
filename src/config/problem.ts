// What is wrong with a command line or a configuration, gathered so that all of it is reported at once.
import { KubeletError } from '../base/errors.ts';

export interface Problem {
  /** Where: a flag, a file with path and line, or a field with its flag. */
  readonly where: string;
  readonly message: string;
}

export class ConfigurationError extends KubeletError {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super('invalid', 'InvalidConfiguration', describeProblems(problems), { details: { problems } });
    this.problems = problems;
  }
}

export function describeProblems(problems: readonly Problem[]): string {
  return problems.map(({ where, message }) => (where === '' ? message : `${where}: ${message}`)).join('\n');
}
