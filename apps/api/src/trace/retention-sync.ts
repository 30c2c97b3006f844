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
    private readonly store: Pick<TraceStore, 'retention'>,
    private readonly workspaces: Pick<Workspaces, 'list'>,
  ) {}

  @Tick('retention', EVERY_MINUTE)
  async sync(): Promise<void> {
    for (const { spec } of this.workspaces.list()) {
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
