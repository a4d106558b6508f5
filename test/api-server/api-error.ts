// Errors of the double, as Status objects. Messages are a real server's, since people and clients read them.
// Upstream: apimachinery/pkg/api/errors.
import type { ResourceType } from './objects/resources.ts';

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly {
    readonly reason?: string;
    readonly message?: string;
    readonly field?: string;
  }[];
  readonly retryAfterSeconds?: number;
}

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: number;
  readonly reason: string;
  readonly details: StatusDetails | undefined;

  constructor(code: number, reason: string, message: string, details?: StatusDetails) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  status(): object {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      reason: this.reason,
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }
}

/** `pods`, `leases.coordination.k8s.io`. */
function qualified({ group, plural }: Pick<ResourceType, 'group' | 'plural'>): string {
  return group === '' ? plural : `${plural}.${group}`;
}

function detailsOf(type: ResourceType, name: string): StatusDetails {
  return { name, ...(type.group === '' ? {} : { group: type.group }), kind: type.plural };
}

export function notFound(type: ResourceType, name: string): ApiError {
  return new ApiError(404, 'NotFound', `${qualified(type)} "${name}" not found`, detailsOf(type, name));
}

export function alreadyExists(type: ResourceType, name: string): ApiError {
  const message = `${qualified(type)} "${name}" already exists`;
  return new ApiError(409, 'AlreadyExists', message, detailsOf(type, name));
}

export function conflict(type: ResourceType, name: string, why: string): ApiError {
  const message = `Operation cannot be fulfilled on ${qualified(type)} "${name}": ${why}`;
  return new ApiError(409, 'Conflict', message, detailsOf(type, name));
}

export function staleObject(type: ResourceType, name: string): ApiError {
  return conflict(
    type,
    name,
    'the object has been modified; please apply your changes to the latest version and try again',
  );
}

export function forbidden(type: ResourceType, name: string, why: string): ApiError {
  const which = name === '' ? `${qualified(type)} is forbidden` : `${qualified(type)} "${name}" is forbidden`;
  return new ApiError(403, 'Forbidden', `${which}: ${why}`, detailsOf(type, name));
}

export function invalid(type: ResourceType, name: string, field: string, why: string): ApiError {
  const message = `${type.kind} "${name}" is invalid: ${field}: ${why}`;
  return new ApiError(422, 'Invalid', message, {
    ...detailsOf(type, name),
    kind: type.kind,
    causes: [{ reason: 'FieldValueInvalid', message: why, field }],
  });
}

export function badRequest(message: string): ApiError {
  return new ApiError(400, 'BadRequest', message);
}

export function expired(message: string): ApiError {
  return new ApiError(410, 'Expired', message);
}
