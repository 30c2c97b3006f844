import { dropUndefined } from '../object/change.js';

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
