import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import type { LakeTable, TraceStore } from '#lib/trace-store';
import type { ApiConfig } from '../config.js';
import {
  type Account,
  askStore,
  type LoadedTable,
  readMetadata,
  signRead,
  type StoreRequest,
  type TableBucket,
} from './table-objects.js';

const WHAT = 'the table of sealed days in the lake';

/** Tables of Iceberg over the sealed days of projects, in the bucket of the lake. */
export class SealedTables {
  constructor(
    private readonly store: Pick<TraceStore, 'lake'>,
    private readonly config: Pick<ApiConfig, 'attachmentEndpoint' | 'attachmentRegion'>,
  ) {}

  /** Published tables; none without a lake. */
  async list({ tenantId }: Caller): Promise<readonly LakeTable[]> {
    const tables = (await this.store.lake?.tables(tenantId)) ?? [];
    return tables.filter(({ version }) => version > 0);
  }

  /** @throws PublicError unavailable, too_many */
  async load({ projectId, metadataKey }: LakeTable, account: Account): Promise<LoadedTable> {
    const { location, json } = await readMetadata(this.#lake(), account, () => metadataKey ?? '');
    if (json === undefined)
      throw new PublicError('unavailable', `Reading ${WHAT} failed: ${location} does not exist`);
    const { attachmentEndpoint: endpoint, attachmentRegion: region = 'us-east-1' } = this.config;
    return {
      location,
      json,
      store: { endpoint, region, isBucketInPath: endpoint !== undefined },
      signer: `sign/projects/${projectId}`,
    };
  }

  /**
   * URL with which one file of a project's sealed days, or of its table, can be read for ten minutes.
   * @throws PublicError not_found; forbidden for anything else; unavailable
   */
  async sign({ tenantId }: Caller, projectId: string, request: StoreRequest): Promise<string> {
    const [table] = (await this.store.lake?.tables(tenantId, [projectId])) ?? [];
    if (!table) throw new PublicError('not_found', 'There is no such table');
    const lake = this.#lake();
    const folder = `${lake.prefix}/${tenantId}/${projectId}/`;
    return await signRead(lake, request, (key) => key.startsWith(folder));
  }

  #lake(): TableBucket & { readonly prefix: string } {
    const { lake } = this.store;
    if (!lake) throw new PublicError('not_found', 'There is no lake');
    const { store, bucket, prefix } = lake.place;
    return { bucket, prefix, ask: (work) => askStore(WHAT, () => work(store)) };
  }
}
