import type { KubeClient } from '#lib/kube';
import { isOwnedBy } from '#lib/reconcile';
import {
  type AgentDeployment,
  type AgentRevision,
  ANNOTATION,
  CONFIG_MAPS,
  type ConfigMap,
  idOf,
  isUuid,
  revisionBuildName,
  revisionOutputName,
  revisionWireStatus,
} from '#lib/resources';
import type { ArchivedRevision, RevisionArchive } from '#lib/trace-store';

/**
 * Bytes of one revision in the archive. A larger record is stored without the resource spec, which has the
 * volumes of a user.
 */
const MAX_RECORD_BYTES = 64 * 1024;
/** Characters of a container's output. As much is kept of one that failed, but anyone may write ConfigMaps. */
const MAX_OUTPUT = 64 * 1024;
const MAX_CONTAINERS = 8;
const MAX_CONDITIONS = 32;
/** Characters of a condition's message in a record that would be too large. */
const MAX_MESSAGE = 256;
/** Characters of the JSON of all outputs, in which a control character takes six: beyond it each output is cut further. */
const MAX_OUTPUTS = 1024 * 1024;

/** A revision as it goes to the archive, with what shows of its metadata. */
export function archivedRevision(revision: AgentRevision): ArchivedRevision {
  const { name, namespace, uid = '', creationTimestamp } = revision.metadata;
  const known = idOf(revision);
  const id = isUuid(known) ? known : uid;
  const { apiVersion, kind, spec, status } = revision;
  const metadata = { name, namespace, uid, creationTimestamp, annotations: { [ANNOTATION.id]: id } };
  const written = (one: Partial<AgentRevision>): string =>
    JSON.stringify({ apiVersion, kind, metadata, spec, status, ...one });
  const isShort = (text: string): boolean => Buffer.byteLength(text) <= MAX_RECORD_BYTES;
  let object = written({});
  if (!isShort(object)) object = written({ spec: { ...spec, resourceSpec: null } as never });
  // the operator of a listener writes the status
  if (!isShort(object))
    object = written({ spec: { ...spec, resourceSpec: null } as never, status: shortened(status) });
  return { id, number: spec.number, status: revisionWireStatus(revision), object };
}

/** The conditions of a status, with messages so short that 32 of them fit. */
function shortened(status: AgentRevision['status']): AgentRevision['status'] {
  const conditions = status?.conditions?.slice(-MAX_CONDITIONS).map((one) => ({
    ...one,
    message: one.message.slice(0, MAX_MESSAGE),
  }));
  return conditions && { conditions };
}

/** The ConfigMaps with what a revision and its build printed last, by name. */
function outputNames({ metadata: { name }, status }: AgentRevision): readonly string[] {
  return [...(status?.build ? [revisionBuildName(name)] : []), revisionOutputName(name)];
}

/** Text of these ConfigMaps for the archive; undefined without any. */
export function archivedOutputs(kept: readonly ConfigMap[]): string | undefined {
  if (kept.length === 0) return undefined;
  for (let most = MAX_OUTPUT; ; most = Math.floor(most / 4)) {
    const text = outputsOf(kept, most);
    if (text.length <= MAX_OUTPUTS || most === 0) return text;
  }
}

/** @param most characters of each output */
function outputsOf(kept: readonly ConfigMap[], most: number): string {
  const shown = kept.map(({ metadata: { name, creationTimestamp, annotations }, data = {} }) => {
    const pod = annotations?.[ANNOTATION.pod];
    return {
      metadata: { name, creationTimestamp, annotations: pod === undefined ? {} : { [ANNOTATION.pod]: pod } },
      data: Object.fromEntries(
        Object.entries(data)
          .slice(0, MAX_CONTAINERS)
          .map(([key, text]) => [key, most === 0 ? '' : text.slice(-most)]),
      ),
    };
  });
  return JSON.stringify(shown);
}

/**
 * Stores revisions in Postgres before they are deleted: at every moment REST finds them in one of both. A revision that
 * is stored and not deleted, because the program ended in between, is stored again by the next pass.
 */
export class RevisionArchiver {
  constructor(
    private readonly client: Pick<KubeClient, 'find'>,
    private readonly archive: Pick<RevisionArchive, 'store' | 'forget'>,
  ) {}

  async store(
    deployment: AgentDeployment,
    revisions: readonly AgentRevision[],
    tenantId: string,
  ): Promise<void> {
    const owner = { tenantId, deploymentId: idOf(deployment) ?? '' };
    for (const revision of revisions)
      await this.archive.store(owner, archivedRevision(revision), await this.#outputsOf(revision));
  }

  /** Drops what is archived of a deployment that is deleted. @param id the deployment's own */
  async forget(id: string, tenantId: string): Promise<void> {
    await this.archive.forget({ tenantId, deploymentId: id });
  }

  async #outputsOf(revision: AgentRevision): Promise<string | undefined> {
    const { namespace = '' } = revision.metadata;
    const found = await Promise.all(
      outputNames(revision).map((name) => this.client.find(CONFIG_MAPS, { namespace, name })),
    );
    return archivedOutputs(found.flatMap((one) => (one && isOwnedBy(one, revision) ? [one] : [])));
  }
}
