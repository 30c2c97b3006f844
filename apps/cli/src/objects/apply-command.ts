import { EXIT } from '#lib/lifecycle';
import { CommandError } from '../command-error.js';
import { withKube } from '../context/open-kube.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { print } from '../output/print-items.js';
import { applyObject } from './apply-manifest.js';
import { nameOf } from './table-answer.js';
import { readManifest } from './read-manifest.js';

/** `agentplane apply -f FILE`: every object of the file, in its order; what is applied before a failure stays. */
export async function applyFile({
  file,
  namespace,
  ...flags
}: TargetFlags & {
  readonly file: string | undefined;
  readonly namespace: string | undefined;
}): Promise<number> {
  if (file === undefined)
    throw new CommandError('usage', 'apply needs a manifest: apply -f FILE, or -f - for standard input');
  const objects = readManifest(file);
  return await withKube(resolveTarget(flags), async ({ client, connection }) => {
    for (const object of objects) {
      const { kind, key, verb } = await applyObject(client, object, namespace ?? connection.namespace);
      print(`${nameOf(kind, key.name)} ${verb}\n`);
    }
    return EXIT.ok;
  });
}
