import type { Workspace } from '#lib/resources';
import { Tick } from '#lib/nest';
import type { RetentionSettings, TraceStore } from '#lib/trace-store';
import type { Workspaces } from '../tenancy/workspaces.js';

const EVERY_MINUTE = '* * * * *';

/** Hands `spec.retention` of the workspaces to the store, which removes by it and gives new runs their tier. */
export class RetentionSync {
  /** Retention that the store has, by tenant. */
  readonly #known = new Map<string, string>();

  constructor(
    private readonly store: { readonly retention: Pick<TraceStore['retention'], 'set'> },
    private readonly workspaces: Pick<Workspaces, 'list'>,
  ) {}

  @Tick('retention', EVERY_MINUTE)
  async sync(): Promise<void> {
    // rows of deleted workspaces are removed, and a later one with the tenant hands its settings anew
    const all = this.workspaces.list().filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const tenants = new Set(all.map(({ spec }) => spec.tenantId.toLowerCase()));
    for (const tenantId of this.#known.keys()) if (!tenants.has(tenantId)) this.#known.delete(tenantId);
    for (const { spec } of all) {
      const tenantId = spec.tenantId.toLowerCase();
      const settings = retentionOf(spec);
      const text = JSON.stringify(settings);
      if (this.#known.get(tenantId) === text) continue;
      await this.store.retention.set(tenantId, settings);
      this.#known.set(tenantId, text);
    }
  }
}

/** A workspace without the member keeps everything; so does one that says 0 days. */
function retentionOf({ retention }: Workspace['spec']): RetentionSettings {
  return {
    shortlivedDays: retention?.shortlivedDays || undefined,
    longlivedDays: retention?.longlivedDays || undefined,
    defaultTier: retention?.defaultTier,
  };
}
