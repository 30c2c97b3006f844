import { randomUUID } from 'node:crypto';
import {
  type Connection,
  inTransaction,
  type Pool,
  type Queryable,
  sqlState,
  textTypes,
} from '#lib/postgres';
import { limitedRead, type ReadLimit } from '../limited-read.js';
import { deletedProjects } from '../project/project-deletions.js';
import { RELEASE } from '../run/remove-runs.js';
import type { RunPlace } from '../run/stored-run.js';
import type {
  AttachmentContent,
  NewAttachment,
  RefusedAttachment,
  StoredAttachment,
  UnusedObject,
} from './attachments.js';

/** Longer than any request lasts: until then an object that nothing refers to may be on its way. */
const WRITING = "interval '1 hour'";
const REFERRING = "interval '15 minutes'";
const TRYING_AGAIN = "interval '10 minutes'";

/** An object counts as many bytes at least: a row and a file cost something, too. */
const LEAST_COUNTED = 4_096;
export const MAX_ATTACHMENT_BYTES = 10_737_418_240;
const UNIQUE_VIOLATION = '23505';

/** @returns those that are stored, kept as they are until the transaction ends */
export async function lockStored(
  client: Queryable,
  tenantId: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT id FROM attachment_objects WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) AND state = 'stored'
    ORDER BY id FOR KEY SHARE`,
    [tenantId, ids],
  );
  return new Set(rows.map(({ id }) => id));
}

/** References of a run. */
const OF_RUN = 100;
/** References of a tenant whose runs have not arrived. */
const WAITING = 10_000;

const COLUMNS = 'a.run_id, a.name, a.content_type, a.object_id, o.size';

/**
 * Attachments of the newest version of an example that has them, so the versions are walked from the newest
 * on. The walk is skipped for an object that no example refers to.
 */
const OF_EXAMPLE = `
SELECT e.id AS run_id, a.key AS name, a.value ->> 'type' AS content_type, o.id AS object_id, o.size
FROM example_versions e CROSS JOIN LATERAL (
  SELECT * FROM jsonb_each(e.attachments) WHERE value ->> 'object' = ($3::uuid)::text ORDER BY key LIMIT 1
) a
JOIN datasets d ON d.tenant_id = $1 AND d.id = e.dataset_id AND d.deleted_at IS NULL
JOIN attachment_objects o ON o.tenant_id = $1 AND o.id = $3 AND o.state = 'stored'
WHERE e.tenant_id = $1 AND e.id = $2 AND e.attachments IS NOT NULL
  AND EXISTS (SELECT FROM example_attachments WHERE tenant_id = $1 AND object_id = $3)
ORDER BY e.since DESC LIMIT 1`;

/** Any number of newer versions may have no such attachment. */
const EXAMPLE_LIMIT: ReadLimit = {
  what: 'Finding the attachment of this example',
  advice: 'ask for the example again, and use the URL of a newer version',
  limitMs: 2_000,
};

interface Row {
  readonly run_id: string;
  readonly name: string;
  readonly content_type: string;
  readonly object_id: string;
  readonly size: string;
}

/** Place of a run, as texts of the database. */
interface PlaceRow {
  readonly run_id: string;
  readonly trace_id: string;
  readonly project_id: string;
  readonly start_time: string;
}

/**
 * References from runs to objects of the object store, and facts about these. An object is `writing` from
 * before its first byte, `stored` once it is whole, `removing` when nothing refers to it.
 * The tables of attachments.
 */
export class AttachmentTable {
  /** @param maxBytes of all objects of a tenant */
  constructor(
    private readonly pool: Pool,
    private readonly maxBytes = MAX_ATTACHMENT_BYTES,
  ) {}

  /**
   * Records that an object is about to be written.
   * @param size its bytes, as far as they are known
   * @returns its id; undefined when the tenant's quota is used up
   */
  async begin(tenantId: string, size: number): Promise<string | undefined> {
    const { rows } = await this.pool.query<{ id: string }>(
      `INSERT INTO attachment_objects (tenant_id, id, check_after)
      SELECT $1::uuid, $2::uuid, clock_timestamp() + ${WRITING}
      WHERE $3::bigint + coalesce((SELECT bytes FROM attachment_usage WHERE tenant_id = $1), 0) <= $4::bigint
      RETURNING id`,
      [tenantId, randomUUID(), Math.max(size, LEAST_COUNTED), this.maxBytes],
    );
    return rows[0]?.id;
  }

  /** A stored object with this content, kept from removal for some minutes. */
  async findContent(tenantId: string, { sha256 }: AttachmentContent): Promise<string | undefined> {
    const { rows } = await this.pool.query<{ id: string }>(
      `UPDATE attachment_objects SET check_after = clock_timestamp() + ${REFERRING}
      WHERE tenant_id = $1 AND sha256 = $2 AND state = 'stored' RETURNING id`,
      [tenantId, sha256],
    );
    return rows[0]?.id;
  }

  /** Counts an object that is about to be completed. @returns false when the tenant's quota is used up */
  async reserve(tenantId: string, id: string, { sha256, size }: AttachmentContent): Promise<boolean> {
    const { rowCount } = await this.pool.query(
      `WITH room AS (
        INSERT INTO attachment_usage AS u (tenant_id, bytes)
        SELECT $1::uuid, $5::bigint WHERE $5::bigint <= $6::bigint
          AND EXISTS (SELECT FROM attachment_objects WHERE tenant_id = $1 AND id = $2 AND state = 'writing' AND size IS NULL)
        ON CONFLICT (tenant_id) DO UPDATE SET bytes = u.bytes + EXCLUDED.bytes
          WHERE u.bytes + EXCLUDED.bytes <= $6::bigint
        RETURNING tenant_id
      )
      UPDATE attachment_objects o SET sha256 = $3, size = $4 FROM room
      WHERE o.tenant_id = $1 AND o.id = $2 AND o.state = 'writing' AND o.size IS NULL`,
      [tenantId, id, sha256, size, Math.max(size, LEAST_COUNTED), this.maxBytes],
    );
    return rowCount === 1;
  }

  /** An object is whole. @returns the object that has its content: another, if that was faster */
  async settle(tenantId: string, id: string, content: AttachmentContent): Promise<string | undefined> {
    try {
      const { rowCount } = await this.pool.query(
        `UPDATE attachment_objects SET state = 'stored', check_after = clock_timestamp() + ${REFERRING}
        WHERE tenant_id = $1 AND id = $2 AND state = 'writing'`,
        [tenantId, id],
      );
      if (rowCount === 1) return id;
    } catch (error) {
      if (sqlState(error) !== UNIQUE_VIOLATION) throw error;
      await this.abandon(tenantId, id);
    }
    return this.findContent(tenantId, content);
  }

  /** Marks an object as unused: tidying removes its data. */
  async abandon(tenantId: string, id: string): Promise<void> {
    await this.pool.query(
      `UPDATE attachment_objects SET check_after = clock_timestamp()
      WHERE tenant_id = $1 AND id = $2 AND state = 'writing'`,
      [tenantId, id],
    );
  }

  /**
   * Checks objects of all tenants that are due, and takes those that nothing refers to; each is offered again
   * later, until it is forgotten. A transaction that refers to an object locks it, and finds it either
   * `stored` or gone, so the check for references, in a separate statement after the lock, is final.
   */
  async takeUnused(
    limit: number,
  ): Promise<{ readonly unused: readonly UnusedObject[]; readonly isMore: boolean }> {
    return inTransaction(this.pool, async (client) => {
      const { rows } = await client.query<{ tenant_id: string; id: string }>(
        `SELECT tenant_id, id FROM attachment_objects WHERE check_after <= clock_timestamp()
        ORDER BY check_after LIMIT $1 FOR UPDATE SKIP LOCKED`,
        [limit],
      );
      if (rows.length === 0) return { unused: [], isMore: false };
      const taken = await client.query<{ tenant_id: string; id: string; state: string }>(
        `UPDATE attachment_objects o SET state = CASE WHEN d.is_used THEN 'stored' ELSE 'removing' END,
          check_after = CASE WHEN d.is_used THEN NULL ELSE clock_timestamp() + ${TRYING_AGAIN} END
        FROM (
          SELECT u.tenant_id, u.id, EXISTS (
            SELECT FROM attachments a WHERE a.tenant_id = u.tenant_id AND a.object_id = u.id
          ) OR EXISTS (
            SELECT FROM example_attachments a WHERE a.tenant_id = u.tenant_id AND a.object_id = u.id
          ) OR EXISTS (
            SELECT FROM source_archives a WHERE a.tenant_id = u.tenant_id AND a.object_id = u.id
          ) AS is_used FROM unnest($1::uuid[], $2::uuid[]) AS u(tenant_id, id)
        ) d WHERE o.tenant_id = d.tenant_id AND o.id = d.id RETURNING o.tenant_id, o.id, o.state`,
        [rows.map((row) => row.tenant_id), rows.map(({ id }) => id)],
      );
      const unused = taken.rows
        .filter(({ state }) => state === 'removing')
        .map((row) => ({ tenantId: row.tenant_id, id: row.id }));
      return { unused, isMore: rows.length === limit };
    });
  }

  /** An object was deleted in the object store. */
  async forget({ tenantId, id }: UnusedObject): Promise<void> {
    await this.pool.query(
      `WITH gone AS (
        DELETE FROM attachment_objects WHERE tenant_id = $1 AND id = $2 AND state = 'removing' RETURNING size
      )
      UPDATE attachment_usage u SET bytes = greatest(0, u.bytes - greatest(gone.size, ${LEAST_COUNTED})) FROM gone
      WHERE u.tenant_id = $1 AND gone.size IS NOT NULL`,
      [tenantId, id],
    );
  }

  /**
   * Stores references, also to runs that have not arrived; one of the same run and name is replaced.
   * @param own id of the one project whose runs the sender may change
   * @returns those that were not stored
   */
  async link(
    tenantId: string,
    attachments: readonly NewAttachment[],
    own?: string,
  ): Promise<readonly RefusedAttachment[]> {
    // the last of one run and name, as if they had come one after the other
    const sent = [...new Map(attachments.map((one) => [`${one.runId}/${one.name}`, one])).values()];
    if (sent.length === 0) return [];
    return inTransaction(this.pool, (client) => this.#link(client, tenantId, sent, own));
  }

  async #link(
    client: Connection,
    tenantId: string,
    sent: readonly NewAttachment[],
    own: string | undefined,
  ): Promise<readonly RefusedAttachment[]> {
    const refused: RefusedAttachment[] = [];
    const refuse = ({ runId, name }: NewAttachment, why: string): false => {
      refused.push({ runId, name, why });
      return false;
    };
    const places = await lockPlaces(client, tenantId, sent, own);
    const stored = await lockStored(
      client,
      tenantId,
      sent.map(({ objectId }) => objectId),
    );
    const others = await countOthers(client, tenantId, sent);
    const foreign = own === undefined ? undefined : await foreignNames(client, tenantId, sent, own);
    let waiting = sent.every(({ runId }) => places.has(runId)) ? 0 : await countWaiting(client, tenantId);
    const good = sent.filter((one) => {
      const place = places.get(one.runId);
      if (own !== undefined && place && place.project_id !== own)
        return refuse(one, 'its run belongs to another tracing project than that of the key');
      if (foreign?.has(`${one.runId}/${one.name}`))
        return refuse(one, 'another sender has stored one of this name; use another name');
      if (!stored.has(one.objectId)) return refuse(one, 'it took too long to arrive; send it again');
      const count = (others.get(one.runId) ?? 0) + 1;
      if (count > OF_RUN) return refuse(one, `a run has at most ${OF_RUN} attachments`);
      if (!place && ++waiting > WAITING)
        return refuse(one, `${WAITING} attachments wait for runs that have not arrived; send the runs first`);
      others.set(one.runId, count);
      return true;
    });
    await upsert(client, tenantId, good, places, own);
    return refused;
  }

  /** Attachments of these runs, by name; at most 100 of each run. */
  async ofRuns(tenantId: string, runs: readonly RunPlace[]): Promise<readonly StoredAttachment[]> {
    if (runs.length === 0) return [];
    const { rows } = await this.pool.query<Row>(
      `SELECT ${COLUMNS} FROM unnest($2::uuid[], $3::uuid[], $4::uuid[]) AS r(id, trace_id, project_id)
      CROSS JOIN LATERAL (
        SELECT * FROM attachments WHERE tenant_id = $1 AND run_id = r.id AND (trace_id IS NULL OR trace_id = r.trace_id)
          AND (project_id IS NULL OR project_id = r.project_id) ORDER BY name LIMIT $5
      ) a JOIN attachment_objects o ON o.tenant_id = $1 AND o.id = a.object_id ORDER BY a.run_id, a.name`,
      [
        tenantId,
        runs.map(({ id }) => id),
        runs.map(({ traceId }) => traceId),
        runs.map(({ projectId }) => projectId),
        OF_RUN,
      ],
    );
    return rows.map(parse);
  }

  /**
   * One of a run, or of any version of an example, that is stored; `ownerId` is the id of either.
   * @throws PublicError bad_request when too many versions of the example are newer than those that have it
   */
  async find(tenantId: string, ownerId: string, objectId: string): Promise<StoredAttachment | undefined> {
    const values = [tenantId, ownerId, objectId];
    const ofRun = await this.pool.query<Row>(
      `SELECT ${COLUMNS} FROM attachments a JOIN attachment_objects o ON o.tenant_id = $1 AND o.id = a.object_id
      WHERE a.tenant_id = $1 AND a.run_id = $2 AND a.object_id = $3 AND o.state = 'stored'
        AND EXISTS (
          SELECT FROM run_keys k WHERE k.tenant_id = $1 AND k.id = a.run_id AND (a.trace_id IS NULL OR k.trace_id = a.trace_id)
            AND (a.project_id IS NULL OR k.project_id = a.project_id) AND k.project_id <> ALL (${deletedProjects('$1')})
        )
      ORDER BY a.name LIMIT 1`,
      values,
    );
    if (ofRun.rows.length > 0) return ofRun.rows.map(parse)[0];
    const ofExample = await limitedRead(this.pool, (db) => db.query<Row>(OF_EXAMPLE, values), EXAMPLE_LIMIT);
    return ofExample.rows.map(parse)[0];
  }
}

export type Attachments = Pick<AttachmentTable, keyof AttachmentTable>;

/** Locked, so that a transaction that removes a run waits, and finds its references. */
async function lockPlaces(
  client: Connection,
  tenantId: string,
  sent: readonly NewAttachment[],
  own: string | undefined,
): Promise<ReadonlyMap<string, PlaceRow>> {
  const { rows } = await client.query<PlaceRow>({
    text: `SELECT w.id AS run_id, k.trace_id, k.project_id, k.start_time
      FROM (SELECT DISTINCT u AS id FROM unnest($2::uuid[]) u ORDER BY u) w CROSS JOIN LATERAL (
        SELECT trace_id, project_id, start_time FROM run_keys WHERE tenant_id = $1 AND id = w.id
        ORDER BY project_id = $3::uuid DESC NULLS LAST, trace_id LIMIT 1 FOR KEY SHARE
      ) k`,
    values: [tenantId, sent.map(({ runId }) => runId), own ?? null],
    types: textTypes,
  });
  return new Map(rows.map((row) => [row.run_id, row]));
}

async function countWaiting(client: Connection, tenantId: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM (
      SELECT FROM attachments WHERE tenant_id = $1 AND start_time IS NULL LIMIT $2
    ) AS w`,
    [tenantId, WAITING],
  );
  return rows[0]?.count ?? 0;
}

/** Number of references that runs have beside those that are sent. */
async function countOthers(
  client: Connection,
  tenantId: string,
  sent: readonly NewAttachment[],
): Promise<Map<string, number>> {
  const { rows } = await client.query<{ run_id: string; count: number }>(
    `SELECT a.run_id, count(*)::integer AS count FROM attachments a
    WHERE a.tenant_id = $1 AND a.run_id = ANY ($2::uuid[]) AND NOT EXISTS (
      SELECT FROM unnest($2::uuid[], $3::text[]) AS s(run_id, name) WHERE s.run_id = a.run_id AND s.name = a.name
    ) GROUP BY a.run_id`,
    [tenantId, sent.map(({ runId }) => runId), sent.map(({ name }) => name)],
  );
  return new Map(rows.map((row) => [row.run_id, row.count]));
}

/** References of these names that senders of other projects have stored, for runs that may not have arrived. */
async function foreignNames(
  client: Connection,
  tenantId: string,
  sent: readonly NewAttachment[],
  own: string,
): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ run_id: string; name: string }>(
    `SELECT a.run_id, a.name FROM attachments a JOIN unnest($2::uuid[], $3::text[]) AS s(run_id, name)
      ON a.tenant_id = $1 AND a.run_id = s.run_id AND a.name = s.name
    WHERE a.project_id IS DISTINCT FROM $4`,
    [tenantId, sent.map(({ runId }) => runId), sent.map(({ name }) => name), own],
  );
  return new Set(rows.map((row) => `${row.run_id}/${row.name}`));
}

/** Sending again writes no row. Sorted: two batches wait for one another instead of deadlocking. */
async function upsert(
  client: Connection,
  tenantId: string,
  good: readonly NewAttachment[],
  places: ReadonlyMap<string, PlaceRow>,
  own: string | undefined,
): Promise<void> {
  if (good.length === 0) return;
  const { rows } = await client.query<{ before: string | null; after: string }>(
    `INSERT INTO attachments AS a
      (tenant_id, run_id, name, trace_id, project_id, start_time, content_type, object_id)
    SELECT $1::uuid, s.* FROM unnest($2::uuid[], $3::text[], $4::uuid[], $5::uuid[], $6::timestamptz[], $7::text[], $8::uuid[])
      AS s(run_id, name, trace_id, project_id, start_time, content_type, object_id) ORDER BY run_id, name
    ON CONFLICT (tenant_id, run_id, name) DO UPDATE SET trace_id = EXCLUDED.trace_id,
      project_id = EXCLUDED.project_id, start_time = EXCLUDED.start_time, content_type = EXCLUDED.content_type,
      object_id = EXCLUDED.object_id
      WHERE (a.trace_id, a.project_id, a.start_time, a.content_type, a.object_id) IS DISTINCT FROM
        (EXCLUDED.trace_id, EXCLUDED.project_id, EXCLUDED.start_time, EXCLUDED.content_type, EXCLUDED.object_id)
    RETURNING old.object_id AS before, new.object_id AS after`,
    [
      tenantId,
      good.map(({ runId }) => runId),
      good.map(({ name }) => name),
      good.map(({ runId }) => places.get(runId)?.trace_id ?? null),
      good.map(({ runId }) => places.get(runId)?.project_id ?? own ?? null),
      good.map(({ runId }) => places.get(runId)?.start_time ?? null),
      good.map(({ contentType }) => contentType),
      good.map(({ objectId }) => objectId),
    ],
  );
  const replaced = rows.flatMap(({ before, after }) => (before && before !== after ? [before] : []));
  if (replaced.length > 0)
    await client.query(`WITH gone AS (SELECT unnest($2::uuid[]) AS object_id), ${RELEASE}`, [
      tenantId,
      replaced,
    ]);
}

function parse(row: Row): StoredAttachment {
  return {
    runId: row.run_id,
    name: row.name,
    contentType: row.content_type,
    objectId: row.object_id,
    size: Number(row.size),
  };
}
