import { idOf, isUuid, LABEL, RESOURCES } from '#lib/resources';
import type { RestRequests } from '#lib/rest-client';
import { CommandError } from '../command-error.js';
import { withKube } from '../context/open-kube.js';
import { ownNamespace } from '../context/own-namespace.js';
import type { Target } from '../context/target.js';

export const EXPORTS_PATH = '/api/v1/bulk-exports';

/** An export as the REST interface answers it, as far as all commands need it. */
export interface FoundExport {
  readonly id: string;
  /** Null for one that is no schedule. */
  readonly interval_hours: number | null;
  readonly bulk_export_destination_id: string | null;
}

/** The config of a destination as the REST interface answers it, as far as its files are looked for. */
export interface DestinationConfig {
  readonly bucket_name: string;
  readonly prefix: string;
  readonly region: string | null;
  readonly endpoint_url: string | null;
  readonly include_bucket_in_prefix: boolean;
}

/**
 * The id of an export. Names are those of resources; exports of the archive, and of a context without a kubeconfig, are
 * known by their id alone.
 * @throws CommandError `notFound`
 */
export async function exportIdOf(target: Target, given: string): Promise<string> {
  if (isUuid(given)) return given;
  if (target.kubeconfig === undefined)
    throw new CommandError(
      'usage',
      `export ${given} is named, and ${target.title} has no kubeconfig to look the name up with: give its id`,
    );
  const namespace = await ownNamespace(target);
  return await withKube(target, async ({ client }) => {
    const found = await client.find(RESOURCES.BulkExport, { namespace, name: given });
    const id = found && idOf(found);
    if (id !== undefined) return id;
    throw new CommandError(
      'notFound',
      `export ${given} does not exist in namespace ${namespace}: "agentplane get bx" lists those that do`,
    );
  });
}

/** An export that has files of its own. @throws CommandError `notFound`; `failed` for a schedule */
export async function readExport<T>(
  target: Target,
  rest: RestRequests,
  given: string,
): Promise<FoundExport & T> {
  const path = `${EXPORTS_PATH}/${await exportIdOf(target, given)}`;
  const found = await rest.request<FoundExport & T>('GET', path);
  if (found.interval_hours !== null) throw new CommandError('failed', scheduleAdvice(given));
  return found;
}

/**
 * Advice on finding the files of a schedule, which has none itself. @param given name or id of the schedule
 */
export function scheduleAdvice(given: string): string {
  const selector = `${LABEL.sourceExport}=${isUuid(given) ? 'NAME' : given}`;
  return `${given} is a schedule, whose files belong to the exports that it makes: "agentplane export list -l ${selector}" lists those`;
}

/** @param deed what needs it, such as `verifying export nightly` @throws CommandError `failed` when it was deleted */
export async function destinationOf(
  rest: RestRequests,
  { bulk_export_destination_id: id }: FoundExport,
  deed: string,
): Promise<DestinationConfig> {
  if (id === null) throw new CommandError('failed', `${deed} failed: its destination was deleted`);
  const path = `${EXPORTS_PATH}/destinations/${id}`;
  return (await rest.request<{ readonly config: DestinationConfig }>('GET', path)).config;
}
