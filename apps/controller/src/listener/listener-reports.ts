import type { EventRecorder, Informer } from '#lib/kube';
import {
  type AgentDeployment,
  type AgentRevision,
  type KubeObject,
  type Listener,
  type ListenerReport,
  type ResourceRef,
  RESOURCES,
} from '#lib/resources';

/** Dependencies of `ListenerReports`. */
export interface ReportParts {
  readonly deployments: Pick<Informer<AgentDeployment>, 'find'>;
  readonly events: Pick<EventRecorder, 'record'>;
}

/**
 * Makes events of what remote listeners report, each once, and only about what they carry out: a stolen
 * kubeconfig of one must not allow reports on the rest of the workspace. An event names the listener that
 * reported it.
 */
export class ListenerReports {
  /** Ids of reports by the uid of their Listener. */
  readonly #seen = new Map<string, ReadonlySet<string>>();

  constructor(private readonly parts: ReportParts) {}

  /**
   * Records new reports. Those that a Listener has when this process first sees it were recorded by the
   * process before.
   * @param revisions revisions that the listener carries out
   */
  record(listener: Listener, revisions: readonly AgentRevision[]): void {
    const { uid = '' } = listener.metadata;
    const reports = listener.status?.reports ?? [];
    const seen = this.#seen.get(uid);
    this.#seen.set(uid, new Set(reports.map(({ id }) => id)));
    if (seen)
      for (const report of reports) if (!seen.has(report.id)) this.#record(listener, report, revisions);
  }

  /** @param uids uids of the Listeners that exist */
  keep(uids: ReadonlySet<string>): void {
    for (const uid of this.#seen.keys()) if (!uids.has(uid)) this.#seen.delete(uid);
  }

  #record(
    { metadata: { name, namespace = '' } }: Listener,
    report: ListenerReport,
    revisions: readonly AgentRevision[],
  ): void {
    const { type, reason } = report;
    const [ref, object] = this.#subject(report, namespace, revisions);
    if (!object || object.metadata.uid !== report.uid) return;
    const message = `listener ${name}: ${report.message}`;
    this.parts.events.record(ref, object, { type, reason, message });
  }

  #subject(
    { kind, name }: ListenerReport,
    namespace: string,
    revisions: readonly AgentRevision[],
  ): readonly [ResourceRef, KubeObject | undefined] {
    if (kind === 'AgentRevision')
      return [RESOURCES.AgentRevision, revisions.find(({ metadata }) => metadata.name === name)];
    const isOwn = revisions.some(({ spec }) => spec.deploymentName === name);
    return [RESOURCES.AgentDeployment, isOwn ? this.parts.deployments.find({ namespace, name }) : undefined];
  }
}
