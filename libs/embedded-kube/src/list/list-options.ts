import { badRequest, invalid, type StatusCause } from '#lib/kube-semantics';

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
