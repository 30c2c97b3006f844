import type { RequestContext } from '../http/request-context.js';
import { numberAt, recordAt, textAt, textsAt } from '../object/reading.js';
import { invalid } from '../status/errors.js';
import { readObject } from './body.js';
import { isTrue } from './write-options.js';

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

/** Reads DeleteOptions from the body or, when there is none, from the query. */
export async function readDeleteOptions(context: RequestContext): Promise<DeleteOptions> {
  const body = await readObject(context);
  if (body === undefined) return fromQuery(context.query);
  const preconditions = recordAt(body, 'preconditions');
  const grace = body.gracePeriodSeconds;
  const policy = propagationPolicy(textAt(body, ['propagationPolicy']), body.orphanDependents);
  return {
    dryRun: textsAt(body, 'dryRun').includes('All') || context.query.getAll('dryRun').includes('All'),
    ...(policy ? { propagationPolicy: policy } : {}),
    ...(typeof grace === 'number' ? { gracePeriodSeconds: numberAt(body, ['gracePeriodSeconds']) } : {}),
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
    dryRun: query.getAll('dryRun').includes('All'),
    ...(policy ? { propagationPolicy: policy } : {}),
    ...(grace !== null && grace !== '' ? { gracePeriodSeconds: Number(grace) } : {}),
  };
}

function propagationPolicy(text: string, orphanDependents: unknown): PropagationPolicy | undefined {
  if (text === '') {
    if (orphanDependents === undefined) return undefined;
    return orphanDependents === true ? 'Orphan' : 'Background';
  }
  if (text === 'Orphan' || text === 'Background' || text === 'Foreground') return text;
  const message = `Unsupported value: "${text}": supported values: "Background", "Foreground", "Orphan"`;
  throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', [
    { reason: 'FieldValueNotSupported', field: 'propagationPolicy', message },
  ]);
}
