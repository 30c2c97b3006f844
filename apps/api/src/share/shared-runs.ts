import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import type { RunPage, SharedTrace, TraceStore } from '#lib/trace-store';
import type { Workspaces } from '../tenancy/workspaces.js';
import type { RunFields } from '../trace/render-run.js';
import type { RunSearches } from '../trace/run-searches.js';

/** What of a shared trace is wanted. */
export interface AskedOfShare {
  readonly fields: RunFields;
  readonly ids?: readonly string[] | undefined;
  readonly isRoot?: boolean | undefined;
  readonly limit: number;
  readonly cursor?: string | null | undefined;
}

/** Runs of shared traces: those of the one trace that a token opens, and nothing else of its tenant. */
export class SharedRuns {
  constructor(
    private readonly store: Pick<TraceStore, 'shares'>,
    private readonly searches: Pick<RunSearches, 'page'>,
    private readonly workspaces: Pick<Workspaces, 'has'>,
  ) {}

  /** @throws PublicError not_found, also once the workspace is deleted */
  async open(token: string): Promise<SharedTrace> {
    const shared = await this.store.shares.open(token);
    if (!shared || !this.workspaces.has(shared.tenantId))
      throw new PublicError('not_found', 'The link does not exist, or sharing was ended');
    return shared;
  }

  /** By start time. @throws PublicError */
  page(
    { tenantId, projectId, traceId }: SharedTrace,
    { fields, ids, isRoot, limit, cursor }: AskedOfShare,
    hold: (bytes: number) => void,
  ): Promise<RunPage> {
    const reader: Caller = { tenantId, keyId: 'share', scope: 'read' };
    const asked = { projectIds: [projectId], traceId, ids, isRoot, fields, limit, cursor };
    return this.searches.page(reader, { ...asked, isAscending: true, filters: {} }, hold);
  }
}
