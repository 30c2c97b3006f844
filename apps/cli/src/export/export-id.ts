import { idOf, isUuid, LABEL, RESOURCES } from '#lib/resources';
import { CommandError } from '../command-error.js';
import { withKube } from '../context/open-kube.js';
import type { Target } from '../context/target.js';

/** A destination as the REST interface answers it, as far as its files are looked for. */
export interface DestinationAnswer {
  readonly config: {
    readonly bucket_name: string;
    readonly prefix: string;
    readonly region: string | null;
    readonly endpoint_url: string | null;
    readonly include_bucket_in_prefix: boolean;
  };
}

/**
 * Advice on finding the files of a schedule, which has none itself. @param given name or id of the schedule
 */
export function scheduleAdvice(given: string): string {
  const selector = `${LABEL.sourceExport}=${isUuid(given) ? 'NAME' : given}`;
  return `${given} is a schedule, whose files belong to the exports that it makes: "agentplane export list -l ${selector}" lists those`;
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
  return await withKube(target, async ({ client, connection: { namespace } }) => {
    const found = await client.find(RESOURCES.BulkExport, { namespace, name: given });
    const id = found && idOf(found);
    if (id !== undefined) return id;
    throw new CommandError(
      'notFound',
      `export ${given} does not exist in namespace ${namespace}: "agentplane get bx" lists those that do`,
    );
  });
}
