import type { Caller } from '#lib/auth';
import { exportRunWireStatus, exportWireStatus, isFinishedExport } from '#lib/resources';
import type { TraceStore } from '#lib/trace-store';
import type { Homes } from '../kubernetes/homes.js';
import type { Workspaces } from '../tenancy/workspaces.js';
import { renderWorkspace, type ResourceUse } from './render-workspace.js';
import type { WorkspaceAnswer } from './workspace-answer.js';

/** The kinds that a workspace is counted by. */
export type CountedHomes = Pick<Homes, 'deployments' | 'listeners' | 'destinations' | 'exports' | 'runs'>;

/** Reads the workspace of a caller: its facts, its limits, its usage. */
export class WorkspaceReader {
  constructor(
    private readonly homes: CountedHomes,
    private readonly workspaces: Pick<Workspaces, 'get' | 'homeOf'>,
    private readonly store: Pick<TraceStore, 'use'>,
  ) {}

  /** @throws PublicError not_found for a workspace that is being deleted */
  async read({ tenantId }: Caller): Promise<WorkspaceAnswer> {
    const workspace = this.workspaces.get(tenantId);
    const { namespace } = this.workspaces.homeOf(tenantId);
    return renderWorkspace(workspace, this.#count(namespace), await this.store.use(tenantId));
  }

  #count(namespace: string): ResourceUse {
    const { deployments, listeners, destinations, exports, runs } = this.homes;
    const underWay = exports.filter(namespace, (one) => !isFinishedExport(exportWireStatus(one)));
    const ordinary = underWay.filter(({ spec }) => spec.intervalHours === undefined);
    const begun = ordinary.filter((one) => exportWireStatus(one) === 'RUNNING');
    const running = runs.filter(namespace, (one) => exportRunWireStatus(one) === 'RUNNING');
    const waiting = runs.filter(namespace, (one) => exportRunWireStatus(one) === 'CREATED');
    return {
      deployments: deployments.list(namespace).length,
      listeners: listeners.list(namespace).length,
      destinations: destinations.list(namespace).length,
      export_schedules: underWay.length - ordinary.length,
      exports_running: begun.length,
      exports_waiting: ordinary.length - begun.length,
      export_runs_running: running.length,
      export_runs_waiting: waiting.length,
    };
  }
}
