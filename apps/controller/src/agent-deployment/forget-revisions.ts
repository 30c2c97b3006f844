import type { KubeClient } from '#lib/kube';
import { type AgentRevision, keyOf, RESOURCES } from '#lib/resources';

/** Deletes revisions; never one that was made since under the same name. */
export async function forgetRevisions(
  client: KubeClient,
  revisions: readonly AgentRevision[],
  propagation: 'Background' | 'Foreground' = 'Background',
): Promise<void> {
  for (const revision of revisions) {
    const { uid } = revision.metadata;
    await client.delete(RESOURCES.AgentRevision, keyOf(revision), {
      propagation,
      ...(uid === undefined ? {} : { uid }),
    });
  }
}
