import { ApiError, badRequest, invalid, type StatusCause } from '#lib/kube-semantics';

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

const KIND = { group: 'meta.k8s.io', kind: 'ListOptions' };
const MATCH = 'resourceVersionMatch';

/** Throws 422 for options of a list that exclude one another. */
export function checkListOptions(query: URLSearchParams): void {
  const match = query.get(MATCH) ?? '';
  const version = query.get('resourceVersion') ?? '';
  const token = query.get('continue') ?? '';
  refuse([
    ...when(match && !version, forbidden(MATCH, `${MATCH} is forbidden unless resourceVersion is provided`)),
    ...when(match && token, forbidden(MATCH, `${MATCH} is forbidden when continue is provided`)),
    ...when(
      match && match !== 'Exact' && match !== 'NotOlderThan',
      unsupported(match, ['Exact', 'NotOlderThan', '']),
    ),
    ...when(
      match === 'Exact' && version === '0',
      forbidden(MATCH, `${MATCH} "exact" is forbidden for resourceVersion "0"`),
    ),
    ...when(
      query.get('sendInitialEvents') !== null,
      forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'),
    ),
  ]);
  if (token && version && version !== '0')
    throw badRequest('specifying resource version is not allowed when using continue');
}

/** Throws 422 for options of a watch that exclude one another. */
export function checkWatchOptions(query: URLSearchParams): void {
  const match = query.get(MATCH) ?? '';
  const asksInitial = query.get('sendInitialEvents') !== null;
  refuse([
    ...when(
      asksInitial && match !== 'NotOlderThan',
      forbidden(MATCH, `sendInitialEvents requires setting ${MATCH} to NotOlderThan`),
    ),
    ...when(
      match && !asksInitial,
      forbidden(MATCH, `${MATCH} is forbidden for watch unless sendInitialEvents is provided`),
    ),
    ...when(match && match !== 'NotOlderThan', unsupported(match, ['NotOlderThan'])),
  ]);
}

function when(isWrong: unknown, cause: StatusCause): readonly StatusCause[] {
  return isWrong ? [cause] : [];
}

function refuse(causes: readonly StatusCause[]): void {
  if (causes.length > 0) throw invalid(KIND, '', causes);
}

function forbidden(field: string, detail: string): StatusCause {
  return { reason: 'FieldValueForbidden', field, message: `Forbidden: ${detail}` };
}

function unsupported(value: string, known: readonly string[]): StatusCause {
  const list = known.map((each) => JSON.stringify(each)).join(', ');
  const message = `Unsupported value: ${JSON.stringify(value)}: supported values: ${list}`;
  return { reason: 'FieldValueNotSupported', field: MATCH, message };
}
