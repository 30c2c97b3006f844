import { EXIT } from '#lib/lifecycle';
import { isUuid } from '#lib/resources';
import { RestClient } from '#lib/rest-client';
import { CommandError } from '../command-error.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { print } from '../output/print.js';

/** `agentplane export continue ID`. By REST, which has the exports of the archive too. */
export async function continueExport(id: string, flags: TargetFlags): Promise<number> {
  if (!isUuid(id))
    throw new CommandError('usage', `export continue needs the id of an export, which "${id}" is not`);
  const rest = new RestClient(resolveTarget(flags).rest);
  const made = await rest.request<{ readonly id: string }>('POST', `/api/v1/bulk-exports/${id}/continue`);
  print(`export ${made.id} continues ${id}\n`);
  return EXIT.ok;
}
