import type { Caller } from '#lib/auth';
import type { RunStatistics, TraceStore } from '#lib/trace-store';
import type { RunSearches, WantedRuns } from '../trace/run-searches.js';

/** Adds up runs for a caller, in the projects that its key reaches. */
export class Statistics {
  constructor(
    private readonly store: Pick<TraceStore, 'statistics'>,
    private readonly searches: Pick<RunSearches, 'searchOf'>,
  ) {}

  /** @throws PublicError not_found (a project), bad_request, invalid */
  async ofRuns(caller: Caller, wanted: WantedRuns): Promise<RunStatistics> {
    const search = (await this.searches.searchOf(caller, wanted)) ?? { projectIds: [] };
    return this.store.statistics.ofRuns(caller.tenantId, search);
  }
}
