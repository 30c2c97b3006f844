import { EXIT } from '#lib/lifecycle';
import { type KubeObject, type ObjectKey, RESOURCES } from '#lib/resources';
import { CommandError } from '../command-error.js';
import { withKube } from '../context/open-kube.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { print } from '../output/print-items.js';
import { followObject } from '../waiting/follow-object.js';
import { findKind, type Kind } from './find-kind.js';
import { findObject, parseObjectWords } from './find-object.js';
import { namespaceOf } from './get-command.js';
import { nameOf } from './table-answer.js';

export interface DeleteFlags extends TargetFlags {
  readonly namespace: string | undefined;
  readonly yes: boolean;
  readonly wait: boolean;
  readonly timeout: number;
}

/** Consequences of deleting an object of the platform's kinds. */
const LOST: Readonly<Record<string, string>> = {
  AgentDeployment: 'its revisions, its pods and its database with all threads are deleted for good',
  BulkExport: 'it is cancelled, and its runs are deleted; exported files stay',
  BulkExportDestination: 'exports that write to it fail; exported files stay',
  Workspace: '"agentplane workspace delete" says what it holds',
};

/** `agentplane delete KIND NAME --yes`. */
export async function deleteObject(words: readonly string[], flags: DeleteFlags): Promise<number> {
  return await withKube(resolveTarget(flags), async (kube) => {
    const { kind: word, name } = parseObjectWords(words);
    if (name === undefined)
      throw new CommandError('usage', `${word} names no object: use delete KIND NAME or KIND/NAME`);
    const kind = await findKind(kube.client, word);
    const { metadata } = await findObject(kube.client, kind, name, { namespace: namespaceOf(kube, flags) });
    const label = nameOf(kind, metadata.name);
    if (!flags.yes) {
      const lost = kind.group === RESOURCES.Workspace.group ? LOST[kind.kind] : undefined;
      throw new CommandError(
        'usage',
        `${label} was not deleted${lost === undefined ? '' : `: ${lost}`}; --yes deletes it`,
      );
    }
    const key = { name: metadata.name, ...(kind.namespaced ? { namespace: metadata.namespace ?? '' } : {}) };
    await kube.client.delete(kind, key, metadata.uid === undefined ? {} : { uid: metadata.uid });
    if (flags.wait) await waitUntilGone(kube.client, kind, { key, uid: metadata.uid, label }, flags.timeout);
    print(`${label} deleted\n`);
    return EXIT.ok;
  });
}

async function waitUntilGone(
  client: Parameters<typeof followObject<KubeObject>>[0],
  kind: Kind,
  { key, uid, label }: { readonly key: ObjectKey; readonly uid: string | undefined; readonly label: string },
  timeoutMs: number,
): Promise<void> {
  let isTold = false;
  for await (const found of followObject<KubeObject>(client, kind, key, { timeoutMs })) {
    if (!found || found.metadata.uid !== uid) return;
    if (!isTold) process.stderr.write(`Waiting until ${label} has ended …\n`);
    isTold = true;
  }
  throw new CommandError(
    'timedOut',
    `${label} is not deleted after ${timeoutMs / 1000} s; it goes on, and "agentplane describe ${kind.singular} ${key.name}" shows what holds it`,
  );
}
