import { idOf, isUuid, RESOURCES } from '#lib/resources';
import { CommandError } from '../command-error.js';
import { withKube } from '../context/open-kube.js';
import type { Target } from '../context/target.js';

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
