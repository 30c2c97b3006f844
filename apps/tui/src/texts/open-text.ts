import { stringify } from 'yaml';
import type { KubeClient, Untyped } from '#lib/kube';
import { renderDescription, workspaceLines } from '#lib/object-text';
import { followLogs, type LogLine, logSources, podFinder, readableLine, readLogs } from '#lib/pod-logs';
import {
  type BulkExportRun,
  type Condition,
  EVENTS,
  idOf,
  keyOf,
  type ResourceRef,
  RESOURCES,
  type Workspace,
} from '#lib/resources';
import { readWorkspace, type RestRequests } from '#lib/rest-client';
import type { Clock } from '#lib/time';
import type { TextKind, View } from '../views/view.js';
import type { Item } from '../world/items.js';
import { runLines, threadLines } from './run-text.js';

/** Limits and usage of a workspace. REST answers them only for the workspace of its key. */
export async function useLines(
  { metadata, spec }: Workspace,
  { rest }: { readonly rest: RestRequests | undefined },
): Promise<readonly string[]> {
  if (rest === undefined)
    return ['— limits and use come from REST: start the dashboard with --data or --context'];
  const found = await readWorkspace(rest);
  return found.id === spec.tenantId.toLowerCase()
    ? workspaceLines(found)
    : [
        `— the key of this dashboard belongs to workspace ${found.name}: limits and use of ${metadata.name} need a key of its own`,
      ];
}

/** A run as REST answers it; resources keep the number of files alone. */
interface RunAnswer {
  readonly id: string;
  readonly metadata: { readonly result: { readonly exported_files: readonly string[] } };
}

/** Bucket and key of every finished file of an export's run. */
export async function fileLines(
  run: BulkExportRun,
  { client, rest }: { readonly client: Pick<KubeClient, 'find'>; readonly rest: RestRequests | undefined },
): Promise<readonly string[]> {
  if (rest === undefined)
    return ['— the names of files come from REST: start the dashboard with --data or --context'];
  const { namespace = '' } = run.metadata;
  const found = await client.find(RESOURCES.BulkExport, { namespace, name: run.spec.exportName });
  const id = found && idOf(found);
  if (id === undefined) return [`— the export ${run.spec.exportName} was deleted`];
  const runs = await rest.request<readonly RunAnswer[]>('GET', `/api/v1/bulk-exports/${id}/runs`);
  const files = runs.find((one) => one.id === idOf(run))?.metadata.result.exported_files ?? [];
  return files.length === 0 ? ['— no finished file yet'] : files;
}

const NO_REST = ['— no REST interface is known: start the dashboard with --data or --context'];

/** Dependencies for reading texts. */
export interface Reading {
  readonly client: KubeClient;
  readonly rest: RestRequests | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Age limit of logs in milliseconds. */
  readonly sinceMs: number | undefined;
  /** True for entries and values as they were written. */
  readonly isRaw: boolean;
}

/** Last lines of each container with which a log begins. */
const TAIL = 1_000;
const IDLE_MS = 60_000;

type Lines = AsyncGenerator<readonly string[], void, void>;

/** The lines of a text about a row, as they come. */
export async function* openText(kind: TextKind, view: View, item: Item, reading: Reading): Lines {
  switch (kind) {
    case 'describe':
      return yield (await describe(refOf(view), item, reading)).split('\n');
    case 'yaml':
      return yield stringify(await fetchObject(refOf(view), item, reading)).split('\n');
    case 'logs':
    case 'previous':
      return yield* logs(kind, view, item, reading);
    case 'errors':
      return yield errorLines(item as BulkExportRun);
    case 'files':
      return yield await fileLines(item as BulkExportRun, reading);
    case 'use':
      return yield await useLines(item as Workspace, reading);
    case 'run':
    case 'conversation': {
      const { rest, isRaw } = reading;
      const read = kind === 'run' ? runLines : threadLines;
      return yield rest ? await read(item.metadata.name, { rest, isRaw }) : NO_REST;
    }
    default:
      return kind satisfies never;
  }
}

function refOf({ source, name }: View): ResourceRef {
  if (source.kind === 'kube') return source.ref;
  throw new Error(`${name} are no objects of the Kubernetes API`);
}

/** Object as the API server has it, without the record of the fields' managers. */
async function fetchObject(ref: ResourceRef, item: Item, { client, signal }: Reading): Promise<Untyped> {
  const object = await client.get(ref as ResourceRef<Untyped>, keyOf(item), { signal });
  const { managedFields: _, ...metadata } = object.metadata as Untyped['metadata'] & {
    readonly managedFields?: unknown;
  };
  return { ...object, metadata };
}

async function describe(ref: ResourceRef, item: Item, reading: Reading): Promise<string> {
  const { client, signal, clock } = reading;
  const object = await fetchObject(ref, item, reading);
  const { items } = await client.list(EVENTS, {
    namespace: object.metadata.namespace ?? 'default',
    fieldSelector: `involvedObject.uid=${object.metadata.uid ?? ''}`,
    signal,
  });
  return renderDescription(object, items, clock.now());
}

async function* logs(kind: 'logs' | 'previous', view: View, item: Item, reading: Reading): Lines {
  const { client, clock, signal, sinceMs, isRaw } = reading;
  const choice = view.podsOf?.(item);
  if (choice === undefined) return yield ['it has no pods'];
  const notes: string[] = [];
  const onNote = (note: string): unknown => notes.push(`— ${note}`);
  const listPods = podFinder(client, choice, { signal, onNote });
  const since =
    sinceMs === undefined
      ? undefined
      : new Date(clock.now().getTime() - sinceMs).toISOString().replace(/Z$/, '000000Z');
  const options = { tail: TAIL, since, signal, onNote };
  const pods = await listPods();
  if (pods.length === 0) yield ['— no pods at present'];
  if (notes.length > 0) yield notes.splice(0);
  const isMany = pods.length > 1 || pods.some(({ spec }) => spec.containers.length > 1);
  const batches =
    kind === 'previous'
      ? readLogs(client, logSources(pods, { previous: true }), { ...options, previous: true })
      : followLogs({
          ...options,
          client,
          clock,
          idleMs: IDLE_MS,
          endsWithPods: false,
          pods: listPods,
        });
  let count = 0;
  for await (const batch of batches) {
    count += batch.length;
    yield [...notes.splice(0), ...batch.map((line) => logText(line, { isMany, isRaw }))];
  }
  yield [...notes, ...(count === 0 && kind === 'previous' ? ['— no container was restarted'] : [])];
}

function logText(
  { time, pod, text }: LogLine,
  { isMany, isRaw }: { readonly isMany: boolean; readonly isRaw: boolean },
): string {
  const at = time.slice(11, 23);
  const shown = isRaw ? text : readableLine(text);
  return isMany ? `${at} ${pod.slice(-11)} ${shown}` : `${at} ${shown}`;
}

/** Each attempt with its error, then what the run says of itself. */
function errorLines({ status, spec }: BulkExportRun): readonly string[] {
  const errors = Object.entries(status?.errors ?? {});
  const conditions = (status?.conditions ?? []).map(
    ({ type, status: is, reason, message }: Condition) => `  ${type}=${is}  ${reason}  ${message}`,
  );
  const numbers = [
    `  attempt ${status?.attempt ?? 0}, ${status?.rows ?? 0} rows, ${status?.bytes ?? 0} bytes, ${status?.files ?? 0} files`,
    `  from ${spec.startTime} to ${spec.endTime}`,
    `  began ${status?.startedAt ?? 'not yet'}, ended ${status?.finishedAt ?? 'not yet'}`,
    `  to ${spec.destination.config.bucketName}/${spec.destination.config.prefix ?? ''}`,
  ];
  return [
    'run',
    ...numbers,
    '',
    'attempts that failed',
    ...(errors.length === 0
      ? ['  none']
      : errors.flatMap(([name, text]) => `  ${name}: ${text}`.split('\n'))),
    '',
    'conditions',
    ...conditions,
  ];
}
