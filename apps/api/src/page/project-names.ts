import type { TraceStore } from '#lib/trace-store';

/** Names of tracing projects, for titles. */
export class ProjectNames {
  constructor(private readonly store: Pick<TraceStore, 'projects'>) {}

  /** @returns its id for one that is not found */
  async of(tenantId: string, id: string): Promise<string> {
    return (await this.store.projects.find(tenantId, { id }))?.name ?? id;
  }
}
