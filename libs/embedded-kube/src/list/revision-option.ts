import { ApiError, badRequest } from '#lib/kube-semantics';

/** Reads `resourceVersion` of a list or watch; undefined when it is not given. */
export function parseRevision(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  if (!/^\d+$/.test(text)) {
    const why = `Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`;
    throw new ApiError(500, '', `resourceVersion: ${why}`);
  }
  return Number(text);
}

/** Reads `resourceVersion` of a list. Throws 400 for a malformed one. */
export function parseListRevision(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  const why = `Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`;
  throw badRequest(`invalid resource version: resourceVersion: ${why}`);
}

/** Throws when a list asks for a moment that it cannot show: lists always show the latest. */
export function checkListRevision(asked: number | undefined, match: string | null, current: number): void {
  if (asked === undefined || asked === 0) return;
  if (asked > current) {
    throw new ApiError(504, 'Timeout', `Timeout: Too large resource version: ${asked}, current: ${current}`, {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    });
  }
  if (match === 'Exact' && asked !== current) {
    throw new ApiError(410, 'Expired', `The resourceVersion for the provided list is too old.`);
  }
}

/** Reads a whole number of the query; 0 when it is not given. */
export function parseCount(text: string | null): number {
  if (text === null || text === '') return 0;
  if (!/^-?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing "${text}": invalid syntax`);
  return Number(text);
}
