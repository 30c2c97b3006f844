import { EXIT } from '#lib/lifecycle';
import { RestClient } from '#lib/rest-client';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { print } from '../output/print-items.js';
import { exportIdOf } from './export-id.js';

/** `agentplane export continue NAME`. Uses REST, which has the exports of the archive too. */
export async function continueExport(given: string, flags: TargetFlags): Promise<number> {
  const target = resolveTarget(flags);
  const id = await exportIdOf(target, given);
  const rest = new RestClient(target.rest);
  const made = await rest.request<{ readonly id: string }>('POST', `/api/v1/bulk-exports/${id}/continue`);
  print(`export ${made.id} continues ${id}\n`);
  return EXIT.ok;
}
