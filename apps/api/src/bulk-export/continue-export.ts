import { randomUUID } from 'node:crypto';
import { PublicError } from '#lib/errors';
import { type ContinuationProblem, findContinuationProblem } from '#lib/export-plan';
import { type Draft, isAlreadyExists } from '#lib/kube';
import {
  ANNOTATION,
  type BulkExport,
  type BulkExportDestination,
  type BulkExportRun,
  idOf,
  LABEL,
  MANAGED_BY,
  type ObjectKey,
  REASON,
} from '#lib/resources';
import type { ResourceHome } from '../kubernetes/resource-home.js';

/** Facts by which a request to continue an export is judged. */
export interface Continued {
  readonly namespace: string;
  readonly predecessor: BulkExport;
  readonly runs: readonly BulkExportRun[];
  readonly destination: BulkExportDestination | undefined;
  /** True when its webhook, if it has one, can still be called as it asks. */
  readonly keepsWebhook: boolean;
  /** Exports that continue it, whatever became of them. */
  readonly others: readonly BulkExport[];
}

/**
 * Makes the export that continues another one. The name follows from the other's id and from how many have continued it,
 * so of two requests at one moment one makes it.
 * @param mark of the request's `Idempotency-Key`: the continuation that an earlier request with it made is the answer
 * @throws PublicError bad_request for an export that cannot be continued, conflict where another continues it
 */
export async function makeContinuation(
  home: Pick<ResourceHome<BulkExport>, 'create' | 'change'>,
  continued: Continued,
  mark?: string,
): Promise<BulkExport> {
  const { predecessor, runs, destination, others } = continued;
  const repeated = others.find((one) => hasMark(one, mark));
  if (repeated) return repeated;
  const id = idOf(predecessor) ?? '';
  const problem = findContinuationProblem({
    id,
    predecessor,
    others,
    continuation: undefined,
    runs,
    destination: destination?.spec.config,
  });
  if (problem) throw refusalOf(problem);
  const key = { namespace: continued.namespace, name: `continued-${id}-${others.length + 1}` };
  try {
    return await home.create(draftOf(key, continued, mark));
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const made = await home.change(key, (current) => current);
    if (hasMark(made, mark)) return made;
    throw new PublicError(
      'conflict',
      `continuing export ${id} failed: another request continues it at the same time`,
      [],
      { cause: error },
    );
  }
}

function hasMark({ metadata }: BulkExport, mark: string | undefined): boolean {
  return mark !== undefined && metadata.annotations?.[ANNOTATION.requestKey] === mark;
}

function refusalOf({ reason, message }: ContinuationProblem): PublicError {
  return new PublicError(reason === REASON.alreadyContinued ? 'conflict' : 'bad_request', message);
}

function draftOf(
  key: ObjectKey,
  { predecessor, keepsWebhook }: Continued,
  mark: string | undefined,
): Draft<BulkExport> {
  const { spec, status } = predecessor;
  const { last: _, sourceExport: _schedule, continues: _before, webhook, ...fixed } = spec;
  const window = { startTime: status?.startTime, endTime: status?.endTime };
  return {
    metadata: {
      ...key,
      annotations: {
        [ANNOTATION.id]: randomUUID(),
        ...(mark === undefined ? {} : { [ANNOTATION.requestKey]: mark }),
      },
      labels: { [LABEL.managedBy]: MANAGED_BY },
    },
    spec: {
      ...fixed,
      ...window,
      ...(webhook && keepsWebhook ? { webhook } : {}),
      continues: { id: idOf(predecessor) ?? '' },
      cancel: false,
      suspend: false,
    },
  };
}
