import type { KubeClient, Untyped } from '#lib/kube';
import { renderDescription } from '#lib/object-text';
import { EVENTS, type KubeEvent } from '#lib/resources';
import { systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';
import { withKube } from '../context/open-kube.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { findKind, findObject, parseObjectWords } from './find-object.js';
import { namespaceOf } from './get-command.js';

/** `agentplane describe KIND NAME`. */
export async function describeObject(
  words: readonly string[],
  flags: TargetFlags & { readonly namespace: string | undefined },
): Promise<void> {
  await withKube(resolveTarget(flags), async (kube) => {
    const { kind: word, name } = parseObjectWords(words);
    if (name === undefined)
      throw new CommandError('usage', `${word} names no object: use describe KIND NAME or KIND/NAME`);
    const kind = await findKind(kube.client, word);
    const object = await findObject(kube.client, kind, name, { namespace: namespaceOf(kube, flags) });
    const events = await eventsOf(kube.client, object);
    process.stdout.write(renderDescription({ ...object, kind: kind.kind }, events, systemClock.now()));
  });
}

async function eventsOf(client: KubeClient, { metadata }: Untyped): Promise<readonly KubeEvent[]> {
  const { items } = await client.list(EVENTS, {
    namespace: metadata.namespace ?? 'default',
    fieldSelector: `involvedObject.uid=${metadata.uid}`,
  });
  return items;
}
