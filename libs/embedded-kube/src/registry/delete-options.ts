import { type ApiError, badRequest, invalid, recordAt, textAt, textsAt } from '#lib/kube-semantics';
import type { RequestContext } from '../http/request-context.js';
import { parseCount } from '../list/revision-option.js';
import { readObject } from './body.js';
import { isTrue } from '../http/query-flag.js';

export type PropagationPolicy = 'Orphan' | 'Background' | 'Foreground';

export interface DeleteOptions {
  readonly dryRun?: boolean;
  readonly propagationPolicy?: PropagationPolicy;
  readonly gracePeriodSeconds?: number;
  /** Precondition: the object must still be this one. */
  readonly uid?: string;
  /** Precondition: the object must not have changed. */
  readonly resourceVersion?: string;
}

/** Reads DeleteOptions from the body or, without one, from the query. */
export async function readDeleteOptions(context: RequestContext): Promise<DeleteOptions> {
  const body = await readObject(context);
  if (body === undefined) return fromQuery(context.query);
  // another object sent by mistake must not delete this one
  if (body.kind !== undefined && body.kind !== 'DeleteOptions')
    throw badRequest(`no kind ${JSON.stringify(body.kind)} is registered for deletion: send DeleteOptions`);
  const preconditions = recordAt(body, 'preconditions');
  const grace = body.gracePeriodSeconds ?? undefined;
  if (grace !== undefined && !Number.isSafeInteger(grace))
    throw badRequest(
      'json: cannot unmarshal into Go struct field DeleteOptions.gracePeriodSeconds of type int64',
    );
  const policy = propagationPolicy(textAt(body, ['propagationPolicy']), body.orphanDependents);
  return {
    dryRun: isDryRun([...textsAt(body, 'dryRun'), ...context.query.getAll('dryRun')]),
    ...(policy ? { propagationPolicy: policy } : {}),
    ...(typeof grace === 'number' ? { gracePeriodSeconds: grace } : {}),
    ...(typeof preconditions.uid === 'string' ? { uid: preconditions.uid } : {}),
    ...(typeof preconditions.resourceVersion === 'string'
      ? { resourceVersion: preconditions.resourceVersion }
      : {}),
  };
}

function fromQuery(query: URLSearchParams): DeleteOptions {
  const grace = query.get('gracePeriodSeconds');
  const orphan = query.get('orphanDependents');
  const policy = propagationPolicy(
    query.get('propagationPolicy') ?? '',
    orphan === null ? undefined : isTrue(orphan),
  );
  return {
    dryRun: isDryRun(query.getAll('dryRun')),
    ...(policy ? { propagationPolicy: policy } : {}),
    ...(grace !== null && grace !== '' ? { gracePeriodSeconds: parseCount(grace) } : {}),
  };
}

function propagationPolicy(text: string, orphanDependents: unknown): PropagationPolicy | undefined {
  if (text !== '' && orphanDependents !== undefined && orphanDependents !== null) {
    const why = 'orphanDependents and deletionPropagation cannot be both set';
    throw refused('FieldValueInvalid', 'propagationPolicy', `Invalid value: ${JSON.stringify(text)}: ${why}`);
  }
  if (text === '') {
    if (orphanDependents === undefined) return undefined;
    return orphanDependents === true ? 'Orphan' : 'Background';
  }
  if (text === 'Orphan' || text === 'Background' || text === 'Foreground') return text;
  const message = `Unsupported value: "${text}": supported values: "Foreground", "Background", "Orphan", "nil"`;
  throw refused('FieldValueNotSupported', 'propagationPolicy', message);
}

/** Anything but `All` is refused: a mistake in the word must not delete. */
function isDryRun(words: readonly string[]): boolean {
  const given = words.filter((word) => word !== '');
  if (given.every((word) => word === 'All')) return given.length > 0;
  const shown = `[${given.map((word) => JSON.stringify(word)).join(',')}]`;
  throw refused('FieldValueNotSupported', 'dryRun', `Unsupported value: ${shown}: supported values: "All"`);
}

function refused(reason: string, field: string, message: string): ApiError {
  return invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', [{ reason, field, message }]);
}
