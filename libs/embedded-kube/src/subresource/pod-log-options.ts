import { badRequest, invalid, type StatusCause } from '#lib/kube-semantics';
import { parseCount } from '../list/revision-option.js';

const TIME = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** Throws 400 or 422 for options of a log that say nothing or contradict each other. */
export function checkLogOptions(query: URLSearchParams, podName: string): void {
  const causes = [
    ...atLeast(query, 'tailLines', 0, 'must be greater than or equal to 0'),
    ...atLeast(query, 'limitBytes', 1, 'must be greater than 0'),
    ...checkSince(query),
  ];
  if (causes.length > 0) throw invalid({ group: '', kind: 'PodLogOptions' }, podName, causes);
}

function checkSince(query: URLSearchParams): readonly StatusCause[] {
  const time = query.get('sinceTime') ?? '';
  if (time !== '' && !TIME.test(time)) {
    const layout = '2006-01-02T15:04:05Z07:00';
    throw badRequest(
      `parsing time ${JSON.stringify(time)} as "${layout}": cannot parse ${JSON.stringify(time)} as "2006"`,
    );
  }
  if (time !== '' && query.get('sinceSeconds')) {
    const message = 'Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified';
    return [{ reason: 'FieldValueForbidden', field: '<nil>', message }];
  }
  return atLeast(query, 'sinceSeconds', 1, 'must be greater than 0');
}

function atLeast(query: URLSearchParams, field: string, least: number, why: string): readonly StatusCause[] {
  const text = query.get(field);
  if (text === null || text === '') return [];
  const value = parseCount(text);
  if (value >= least) return [];
  return [{ reason: 'FieldValueInvalid', field, message: `Invalid value: ${value}: ${why}` }];
}
