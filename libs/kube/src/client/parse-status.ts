import { KubeApiError, type KubeErrorDetails } from './kube-api-error.js';

interface Status {
  readonly kind?: unknown;
  readonly code?: unknown;
  readonly reason?: unknown;
  readonly message?: unknown;
  readonly details?: unknown;
}

/** The error in the body of a refused request, or of an ERROR event; what is no Status keeps its HTTP code. */
export function parseStatus(code: number, body: string, retryAfter?: string | string[]): KubeApiError {
  let status: Status = {};
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === 'object' && parsed !== null) status = parsed;
  } catch {
    status = { message: body.slice(0, 500).trim() };
  }
  return errorOfStatus(status, code, Number(retryAfter));
}

/** The error of a `kind: Status` object. */
export function errorOfStatus(status: Status, fallbackCode: number, retryAfterSeconds = NaN): KubeApiError {
  const code = typeof status.code === 'number' ? status.code : fallbackCode;
  const reason = typeof status.reason === 'string' && status.reason !== '' ? status.reason : reasonOf(code);
  const message =
    typeof status.message === 'string' && status.message !== ''
      ? status.message
      : `the API server answered ${code} ${reason}`;
  const details = (
    typeof status.details === 'object' && status.details !== null ? status.details : {}
  ) as KubeErrorDetails;
  return new KubeApiError(
    code,
    reason,
    message,
    Number.isFinite(retryAfterSeconds) ? { retryAfterSeconds, ...details } : details,
  );
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

function reasonOf(code: number): string {
  return REASONS[code] ?? 'Unknown';
}
