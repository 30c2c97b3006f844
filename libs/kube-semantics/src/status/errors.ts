import { dropUndefined } from '../object/kube-object.js';

export interface StatusCause {
  readonly reason?: string;
  readonly message: string;
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  /** Resource or kind, as Kubernetes has it for the reason. */
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

/** Limit of a message, more than a person reads. Refusals repeat what was sent, which may be megabytes. */
const MESSAGE_LETTERS = 32 * 1024;
/** Limit of a cause's message, and of the name of its field. */
const CAUSE_LETTERS = 4 * 1024;

/** A failure that the client reads as a Kubernetes Status object. */
export class ApiError extends Error {
  constructor(
    readonly code: number,
    readonly reason: string,
    message: string,
    readonly details?: StatusDetails,
  ) {
    super(message);
    this.name = 'ApiError';
  }

  /** The Status object of this failure; what it repeats of a request is cut. */
  status(): Record<string, unknown> {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: cut(this.message, MESSAGE_LETTERS),
      reason: this.reason,
      ...(this.details ? { details: shown(this.details) } : {}),
      code: this.code,
    };
  }
}

function shown(details: StatusDetails): Record<string, unknown> {
  const causes = details.causes?.map(({ message, field, ...rest }) => ({
    ...rest,
    message: cut(message, CAUSE_LETTERS),
    ...(field === undefined ? {} : { field: cut(field, CAUSE_LETTERS) }),
  }));
  return dropUndefined({ ...details, causes });
}

function cut(text: string, letters: number): string {
  if (text.length <= letters) return text;
  return `${text.slice(0, letters).toWellFormed()}… (${text.length} letters)`;
}

/** Group and plural name of a resource, for messages. */
export interface ResourceName {
  readonly group: string;
  readonly resource: string;
}

/** `deployments.apps`, or `pods` for the core group. */
export function qualified({ group, resource }: ResourceName): string {
  return group === '' ? resource : `${resource}.${group}`;
}

function details(of: ResourceName, name: string): { name?: string; group?: string; kind: string } {
  return { ...(name ? { name } : {}), ...(of.group ? { group: of.group } : {}), kind: of.resource };
}

export function notFound(of: ResourceName, name: string): ApiError {
  return new ApiError(404, 'NotFound', `${qualified(of)} "${name}" not found`, details(of, name));
}

export function alreadyExists(of: ResourceName, name: string): ApiError {
  return new ApiError(409, 'AlreadyExists', `${qualified(of)} "${name}" already exists`, details(of, name));
}

/** Generated names that were all taken. */
export function generateNameExhausted(of: ResourceName, name: string): ApiError {
  const message = `${qualified(of)} "${name}" already exists, the server was not able to generate a unique name for the object`;
  return new ApiError(409, 'AlreadyExists', message, { ...details(of, name), retryAfterSeconds: 1 });
}

export function conflict(of: ResourceName, name: string, why: string): ApiError {
  const message = `Operation cannot be fulfilled on ${qualified(of)} "${name}": ${why}`;
  return new ApiError(409, 'Conflict', message, details(of, name));
}

/** Another writer changed the object since the caller read it. */
export function modified(of: ResourceName, name: string): ApiError {
  return conflict(
    of,
    name,
    'the object has been modified; please apply your changes to the latest version and try again',
  );
}

export function forbidden(
  of: ResourceName,
  name: string,
  why: string,
  causes?: readonly StatusCause[],
): ApiError {
  const subject = name ? `${qualified(of)} "${name}"` : qualified(of);
  const message = of.resource === '' ? `forbidden: ${why}` : `${subject} is forbidden: ${why}`;
  return new ApiError(403, 'Forbidden', message, { ...details(of, name), ...(causes ? { causes } : {}) });
}

/**
 * Limits of causes, more than people read: an answer must not be hundreds of times as large as its request.
 */
const MAX_CAUSES = 100;
const MAX_LETTERS = 256 * 1024;

/** The first causes, at least one; the last of them says how many are left out. */
function shownCauses(causes: readonly StatusCause[]): readonly StatusCause[] {
  let letters = 0;
  const end = causes.findIndex(({ message, field = '' }, index) => {
    letters += message.length + field.length;
    return index > 0 && (index >= MAX_CAUSES || letters > MAX_LETTERS);
  });
  if (end < 0) return causes;
  const left = `${causes.length - end} more mistakes are not shown`;
  return [...causes.slice(0, end), { reason: 'FieldValueInvalid', message: left }];
}

/** Validation failed; `kind` is the kind, not the resource. */
export function invalid(
  of: { readonly group: string; readonly kind: string },
  name: string,
  found: readonly StatusCause[],
): ApiError {
  const causes = shownCauses(found);
  const lines = [
    ...new Set(causes.map((cause) => (cause.field ? `${cause.field}: ${cause.message}` : cause.message))),
  ];
  const text = lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`;
  return new ApiError(
    422,
    'Invalid',
    `${of.kind}${of.group ? `.${of.group}` : ''} "${name}" is invalid: ${text}`,
    {
      ...(name ? { name } : {}),
      ...(of.group ? { group: of.group } : {}),
      kind: of.kind,
      // field by field: what else a check knows about its finding is not on the wire
      causes: causes.map(({ reason, message, field }) => ({ reason, message, ...(field ? { field } : {}) })),
    },
  );
}

export function badRequest(message: string): ApiError {
  return new ApiError(400, 'BadRequest', message);
}

export function unauthorized(): ApiError {
  return new ApiError(401, 'Unauthorized', 'Unauthorized');
}

export function methodNotAllowed(): ApiError {
  return new ApiError(
    405,
    'MethodNotAllowed',
    'the server does not allow this method on the requested resource',
    {},
  );
}

export function unsupportedMediaType(accepted: readonly string[]): ApiError {
  return new ApiError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );
}

export function expired(message: string): ApiError {
  return new ApiError(410, 'Expired', message);
}

export function internalError(message: string): ApiError {
  return new ApiError(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] });
}

/** The store could not take the write in time; it may still happen. */
export function timeout(message: string): ApiError {
  return new ApiError(504, 'Timeout', `Timeout: ${message}`, { retryAfterSeconds: 1 });
}
