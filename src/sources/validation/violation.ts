// A violation of an API rule, and its text: `spec.containers[0].name: Required value`.
// Upstream: apimachinery/pkg/util/validation/field.

type ViolationType =
  | 'Required value'
  | 'Invalid value'
  | 'Unsupported value'
  | 'Duplicate value'
  | 'Forbidden'
  | 'Not found'
  | 'Too long'
  | 'Too many';

export interface Violation {
  readonly type: ViolationType;
  readonly field: string;
  /** The offending value, if it is part of the text. */
  readonly value?: unknown;
  readonly detail: string;
}

const longestValue = 200;

export function violationText({ type, field, value, detail }: Violation): string {
  const shown = value === undefined ? '' : `: ${printed(value)}`;
  return `${field}: ${type}${shown}${detail === '' ? '' : `: ${detail}`}`;
}

function printed(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null';
  return text.length <= longestValue ? text : `${text.slice(0, longestValue)}…`;
}

/** Returns the problems of a string; empty if it is valid. */
type TextCheck = (value: string) => readonly string[];

/** Collects the violations of an object. */
export class Violations {
  readonly found: Violation[] = [];

  required(field: string, detail = ''): void {
    this.found.push({ type: 'Required value', field, detail });
  }

  invalid(field: string, value: unknown, detail: string): void {
    this.found.push({ type: 'Invalid value', field, value: value ?? null, detail });
  }

  unsupported(field: string, value: unknown, supported: readonly string[]): void {
    const names = supported.map((name) => JSON.stringify(name)).join(', ');
    const detail = `supported values: ${names}`;
    this.found.push({ type: 'Unsupported value', field, value: value ?? '', detail });
  }

  duplicate(field: string, value: unknown): void {
    this.found.push({ type: 'Duplicate value', field, value, detail: '' });
  }

  forbidden(field: string, detail: string): void {
    this.found.push({ type: 'Forbidden', field, detail });
  }

  notFound(field: string, value: unknown, detail = ''): void {
    this.found.push({ type: 'Not found', field, value, detail });
  }

  tooLong(field: string, limitBytes: number): void {
    this.found.push({ type: 'Too long', field, detail: `may not be more than ${limitBytes} bytes` });
  }

  tooMany(field: string, count: number, limit: number): void {
    this.found.push({ type: 'Too many', field, value: count, detail: `must have at most ${limit} items` });
  }

  /** A string that is empty or satisfies a rule. */
  text(field: string, value: string | undefined, check: TextCheck): void {
    if (value === undefined || value === '') return;
    for (const detail of check(value)) this.invalid(field, value, detail);
  }

  /** A required string that satisfies a rule. */
  requiredText(field: string, value: string | undefined, check?: TextCheck): void {
    if (value === undefined || value === '') this.required(field);
    else if (check !== undefined) this.text(field, value, check);
  }

  /** One of the given values. */
  requiredWord(field: string, value: string | undefined, words: readonly string[]): void {
    if (value === undefined || value === '') this.required(field);
    else this.word(field, value, words);
  }

  /** One of the given values, or absent. */
  word(field: string, value: string | undefined, words: readonly string[]): void {
    if (value !== undefined && !words.includes(value)) this.unsupported(field, value, words);
  }

  range(field: string, value: number | undefined, low: number, high: number): void {
    if (value !== undefined && (value < low || value > high))
      this.invalid(field, value, `must be between ${low} and ${high}`);
  }

  notNegative(field: string, value: number | undefined): void {
    if (value !== undefined && value < 0) this.invalid(field, value, 'must not be negative');
  }

  /** None of these fields may be set. */
  unset(fields: Readonly<Record<string, unknown>>, detail: string): void {
    for (const [field, value] of Object.entries(fields)) if (isSet(value)) this.forbidden(field, detail);
  }
}

/** Whether a field is set: empty and false count as absent. */
function isSet(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return value !== undefined && value !== null && value !== false && value !== '';
}

export function bytesOf(text: string): number {
  return Buffer.byteLength(text);
}
