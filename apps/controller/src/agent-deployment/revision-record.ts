import {
  type AgentRevision,
  ANNOTATION,
  type ConfigMap,
  idOf,
  isUuid,
  revisionBuildName,
  revisionOutputName,
  revisionWireStatus,
} from '#lib/resources';
import type { ArchivedRevision } from '#lib/trace-store';

/** Bytes of one revision in the archive. Of a larger one the resource spec is left out, which has the volumes of a user. */
const MAX_RECORD_BYTES = 64 * 1024;
/** Characters of a container's output. As much is kept of one that failed, but anyone may write ConfigMaps. */
const MAX_OUTPUT = 64 * 1024;
const MAX_CONTAINERS = 8;

/** A revision as it goes to the archive, with what shows of its metadata. */
export function archivedRevision(revision: AgentRevision): ArchivedRevision {
  const { name, namespace, uid = '', creationTimestamp } = revision.metadata;
  const known = idOf(revision);
  const id = isUuid(known) ? known : uid;
  const { apiVersion, kind, spec, status } = revision;
  const metadata = { name, namespace, uid, creationTimestamp, annotations: { [ANNOTATION.id]: id } };
  const whole = JSON.stringify({ apiVersion, kind, metadata, spec, status });
  return {
    ...{ id, number: spec.number, status: revisionWireStatus(revision) },
    object:
      Buffer.byteLength(whole) <= MAX_RECORD_BYTES
        ? whole
        : JSON.stringify({ apiVersion, kind, metadata, spec: { ...spec, resourceSpec: null }, status }),
  };
}

/** The ConfigMaps with what a revision and its build printed last, by name. */
export function outputNames({ metadata: { name }, status }: AgentRevision): readonly string[] {
  return [...(status?.build ? [revisionBuildName(name)] : []), revisionOutputName(name)];
}

/** What these ConfigMaps hold, for the archive; undefined without any. */
export function archivedOutputs(kept: readonly ConfigMap[]): string | undefined {
  if (kept.length === 0) return undefined;
  const shown = kept.map(({ metadata: { name, creationTimestamp, annotations }, data = {} }) => {
    const pod = annotations?.[ANNOTATION.pod];
    return {
      metadata: { name, creationTimestamp, annotations: pod === undefined ? {} : { [ANNOTATION.pod]: pod } },
      data: Object.fromEntries(
        Object.entries(data)
          .slice(0, MAX_CONTAINERS)
          .map(([key, text]) => [key, text.slice(-MAX_OUTPUT)]),
      ),
    };
  });
  return JSON.stringify(shown);
}
