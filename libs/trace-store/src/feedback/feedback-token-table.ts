import { createHash, createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { PublicError } from '#lib/errors';
import { type Connection, inTransaction, type Pool, type Queryable } from '#lib/postgres';
import { deletedProjects } from '../project/project-deletions.js';
import { FEEDBACK_LIMITS } from './feedback.js';

/** Leave to give feedback to one run, under one key of feedback, without an API key. */
export interface NewFeedbackToken {
  readonly runId: string;
  readonly key: string;
  /** JSON text: how to read the score. */
  readonly config: string | undefined;
  /** Id of the feedback that is given, which is replaced each time; undefined: each has an id of its own. */
  readonly feedbackId: string | undefined;
  /** Lifetime in seconds, by the clock of the database. */
  readonly seconds: number;
  readonly place: readonly (string | number)[];
}

/** A token as it is answered once. */
interface MintedFeedbackToken {
  readonly id: string;
  readonly token: string;
  readonly expiresAt: Date;
}

/** Permission that a token grants. */
export interface FeedbackGrant {
  readonly tenantId: string;
  readonly runId: string;
  /** The only project whose run it is for. */
  readonly projectId: string | undefined;
  readonly key: string;
  readonly config: string | undefined;
  readonly feedbackId: string | undefined;
}

const BYTES = 16;
/** Random bits come first, with version and variant of a UUID among them; the rest is their signature. */
const RANDOM_BYTES = 8;
/** Variant and the first bits of the signature share a byte. */
const VARIANT = 0x80;
const REST = 0x3f;

/** The last eight bytes of the UUID of these random ones. */
function signatureOf(random: Buffer, key: Buffer): Buffer {
  const mac = createHmac('sha256', key)
    .update(random)
    .digest()
    .subarray(0, BYTES - RANDOM_BYTES);
  mac.writeUInt8((mac.readUInt8(0) & REST) | VARIANT, 0);
  return mac;
}

/**
 * A token that is a UUID, which the clients require: 60 random bits and the first 62 bits of their HMAC.
 * Without the key 122 bits have to be guessed; with it, the token alone shows that it was signed.
 */
export function makeToken(key: Buffer): string {
  const random = randomBytes(RANDOM_BYTES);
  random.writeUInt8((random.readUInt8(6) & 0x0f) | 0x40, 6);
  return Buffer.concat([random, signatureOf(random, key)])
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** True when a UUID was made with this key. */
export function isSignedToken(token: string, key: Buffer): boolean {
  const bytes = Buffer.from(token.replaceAll('-', ''), 'hex');
  if (bytes.length !== BYTES) return false;
  return timingSafeEqual(bytes.subarray(RANDOM_BYTES), signatureOf(bytes.subarray(0, RANDOM_BYTES), key));
}

/** Any number that no other lock of this database begins with. */
const TOKENS_LOCK = 7_214_014;

/**
 * SQL that is true when the token is for a run of a deleted project whose rows are to be removed, and for no
 * other run of that id.
 */
function isOfDeleted(tenant: string): string {
  return `(SELECT coalesce(bool_and(k.project_id = ANY (${deletedProjects(tenant)})), false)
    FROM run_keys k WHERE k.tenant_id = ${tenant} AND k.id = feedback_tokens.run_id
      AND (feedback_tokens.project_id IS NULL OR k.project_id = feedback_tokens.project_id))`;
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token.toLowerCase()).digest();
}

/**
 * Tokens are signed, and stored as hashes.
 * The table `feedback_tokens`. A token is 122 bits that cannot be guessed, so its hash needs no salt.
 */
export class FeedbackTokenTable {
  /** Read once; a failure is not kept. */
  #key: Promise<Buffer> | undefined;

  constructor(private readonly pool: Pool) {}

  /**
   * True when any store of this database made the token; its current state is not looked up.
   * @param token a UUID
   */
  async isSigned(token: string): Promise<boolean> {
    return isSignedToken(token, await this.#signingKey());
  }

  /**
   * @param onlyProject the one project whose runs the tokens are for
   * @throws PublicError invalid when a run has too many, or the tenant for runs that have not arrived
   */
  async mint(
    tenantId: string,
    tokens: readonly NewFeedbackToken[],
    onlyProject?: string,
  ): Promise<readonly MintedFeedbackToken[]> {
    if (tokens.length === 0) return [];
    const signingKey = await this.#signingKey();
    const minted = tokens.map((token) => ({ ...token, id: randomUUID(), token: makeToken(signingKey) }));
    const ends = await inTransaction(this.pool, async (client) => {
      await checkRoom(client, tenantId, tokens);
      const arrived = await requireWaitingRoom(client, tenantId, tokens);
      const { rows } = await client.query<{ id: string; expires_at: Date }>(
        `INSERT INTO feedback_tokens (tenant_id, id, hash, run_id, project_id, key, config, feedback_id, expires_at, waits)
        SELECT $1, t.id, t.hash, t.run_id, $2, t.key, t.config, t.feedback_id,
          clock_timestamp() + t.seconds * interval '1 second', NOT t.run_id = ANY ($10::uuid[])
        FROM unnest($3::uuid[], $4::bytea[], $5::uuid[], $6::text[], $7::text[], $8::uuid[], $9::float8[])
          AS t(id, hash, run_id, key, config, feedback_id, seconds)
        RETURNING id, expires_at`,
        [
          tenantId,
          onlyProject ?? null,
          minted.map(({ id }) => id),
          minted.map(({ token }) => hashOf(token)),
          minted.map(({ runId }) => runId),
          minted.map(({ key }) => key),
          minted.map(({ config }) => config ?? null),
          minted.map(({ feedbackId }) => feedbackId ?? null),
          minted.map(({ seconds }) => seconds),
          [...arrived],
        ],
      );
      return new Map(rows.map((row) => [row.id, row.expires_at]));
    });
    return minted.flatMap(({ id, token }) => {
      const expiresAt = ends.get(id);
      return expiresAt ? [{ id, token, expiresAt }] : [];
    });
  }

  /** Tokens of a run that may still be used, oldest first, without the tokens themselves. */
  async list(
    tenantId: string,
    runId: string,
    { limit, offset }: { readonly limit: number; readonly offset: number },
    onlyProject?: string,
  ): Promise<readonly Omit<MintedFeedbackToken, 'token'>[]> {
    const { rows } = await this.pool.query<{ id: string; expires_at: Date }>(
      `SELECT id, expires_at FROM feedback_tokens
      WHERE tenant_id = $1 AND run_id = $2 AND expires_at > clock_timestamp() AND ($3::uuid IS NULL OR project_id = $3)
        AND NOT ${isOfDeleted('$1')}
      ORDER BY created_at, id LIMIT $4 OFFSET $5`,
      [tenantId, runId, onlyProject ?? null, limit, offset],
    );
    return rows.map((row) => ({ id: row.id, expiresAt: row.expires_at }));
  }

  /** Permission that a token grants; undefined for one that does not exist or has ended. */
  async find(token: string): Promise<FeedbackGrant | undefined> {
    if (!(await this.isSigned(token))) return undefined;
    const { rows } = await this.pool.query<{
      tenant_id: string;
      run_id: string;
      project_id: string | null;
      key: string;
      config: string | null;
      feedback_id: string | null;
    }>(
      `SELECT tenant_id, run_id, project_id, key, config, feedback_id FROM feedback_tokens
      WHERE hash = $1 AND expires_at > clock_timestamp() AND NOT ${isOfDeleted('feedback_tokens.tenant_id')}`,
      [hashOf(token)],
    );
    const [row] = rows;
    return (
      row && {
        tenantId: row.tenant_id,
        runId: row.run_id,
        projectId: row.project_id ?? undefined,
        key: row.key,
        config: row.config ?? undefined,
        feedbackId: row.feedback_id ?? undefined,
      }
    );
  }

  #signingKey(): Promise<Buffer> {
    this.#key ??= readSigningKey(this.pool).catch((error: unknown) => {
      this.#key = undefined;
      throw error;
    });
    return this.#key;
  }
}

export type FeedbackTokens = Pick<FeedbackTokenTable, keyof FeedbackTokenTable>;

async function readSigningKey(db: Queryable): Promise<Buffer> {
  const { rows } = await db.query<{ key: Buffer }>(
    `SELECT key FROM signing_keys WHERE name = 'feedback tokens'`,
  );
  const key = rows[0]?.key;
  if (key) return key;
  throw new Error(
    'reading the key of feedback tokens failed: signing_keys has no row of this name; restore the table',
  );
}

/**
 * Counts tokens for runs that have not arrived, under the lock of `checkRoom`. Tokens whose runs came
 * meanwhile are looked for only near the limit.
 * @returns runs of these tokens that have arrived
 * @throws PublicError invalid
 */
async function requireWaitingRoom(
  client: Connection,
  tenantId: string,
  tokens: readonly NewFeedbackToken[],
): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ id: string }>(
    'SELECT DISTINCT id FROM run_keys WHERE tenant_id = $1 AND id = ANY ($2::uuid[])',
    [tenantId, tokens.map(({ runId }) => runId)],
  );
  const arrived = new Set(rows.map(({ id }) => id));
  const waiting = tokens.filter(({ runId }) => !arrived.has(runId));
  const [first] = waiting;
  if (!first) return arrived;
  const most = FEEDBACK_LIMITS.tokensWaiting;
  const isFull = async (): Promise<boolean> => {
    const { rows: counted } = await client.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM (
        SELECT FROM feedback_tokens WHERE tenant_id = $1 AND waits AND expires_at > clock_timestamp() LIMIT ${most}
      ) w`,
      [tenantId],
    );
    return (counted[0]?.count ?? 0) + waiting.length > most;
  };
  if (!(await isFull())) return arrived;
  await client.query(
    `UPDATE feedback_tokens t SET waits = false WHERE tenant_id = $1 AND waits
      AND EXISTS (SELECT FROM run_keys k WHERE k.tenant_id = $1 AND k.id = t.run_id)`,
    [tenantId],
  );
  if (!(await isFull())) return arrived;
  const msg = `creating a token failed: ${most} tokens of the workspace are for runs that have not arrived, which is the most; send the runs first, or let tokens expire`;
  throw new PublicError('invalid', msg, [{ loc: [...first.place, 'run_id'], msg, type: 'too_many_tokens' }]);
}

/** Tokens of one tenant are counted one request after another. */
async function checkRoom(
  client: Connection,
  tenantId: string,
  tokens: readonly NewFeedbackToken[],
): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [TOKENS_LOCK, tenantId]);
  const { rows } = await client.query<{ run_id: string; count: number }>(
    `SELECT run_id, count(*)::int AS count FROM feedback_tokens
    WHERE tenant_id = $1 AND run_id = ANY ($2::uuid[]) AND expires_at > clock_timestamp() GROUP BY run_id`,
    [tenantId, [...new Set(tokens.map(({ runId }) => runId))]],
  );
  const counts = new Map(rows.map((row) => [row.run_id, row.count]));
  for (const { runId, place } of tokens) {
    const count = counts.get(runId) ?? 0;
    if (count < FEEDBACK_LIMITS.tokens) counts.set(runId, count + 1);
    else {
      const msg = `creating a token failed: the run ${runId} has ${FEEDBACK_LIMITS.tokens} that may be used, which is the most; use those, or let them expire`;
      throw new PublicError('invalid', msg, [{ loc: [...place, 'run_id'], msg, type: 'too_many_tokens' }]);
    }
  }
}

/** Removes tokens that may be used no more. */
export async function removeEndedTokens(db: Queryable): Promise<void> {
  await db.query('DELETE FROM feedback_tokens WHERE expires_at < clock_timestamp()');
}
