import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import type { WrongKeys } from '#lib/http';
import type { RunPage, SharedTrace, TraceStore } from '#lib/trace-store';
import type { Workspaces } from '../tenancy/workspaces.js';
import type { RunFields } from '../trace/render-run.js';
import type { RunSearches } from '../trace/run-searches.js';

/** The part of a shared trace that is wanted. */
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
    private readonly wrongTokens: WrongKeys,
  ) {}

  /**
   * @param address of the connection: unknown tokens are counted by it, as wrong keys are
   * @throws PublicError not_found, also once the workspace is deleted; too_many
   */
  async open(token: string, address: string | undefined): Promise<SharedTrace> {
    const attempt = this.wrongTokens.begin(address, token);
    const shared = await this.store.shares.open(token);
    if (!shared || !this.workspaces.has(shared.tenantId))
      throw attempt.wrong(new PublicError('not_found', 'The link does not exist, or sharing was ended'));
    attempt.good();
    return shared;
  }

  /** Runs by start time. @throws PublicError */
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
