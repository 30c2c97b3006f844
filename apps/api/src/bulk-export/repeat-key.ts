import { createHash } from 'node:crypto';
import { PublicError } from '#lib/errors';
import { type Draft, isAlreadyExists } from '#lib/kube';
import { ANNOTATION, type BulkExport } from '#lib/resources';
import type { ResourceHome } from '../kubernetes/resource-home.js';
import { parseIdempotencyKey } from '../wire/if-match.js';
import type { FoundExport } from './export-history.js';

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32);
}

/** Places in which to look for the export of a key. */
export interface KeyedExports {
  readonly home: Pick<ResourceHome<BulkExport>, 'findByName' | 'change' | 'create'>;
  /** The newest of a name in the archive. */
  readonly archived: (name: string) => Promise<FoundExport | undefined>;
}

/**
 * The header `Idempotency-Key` of a request that creates an export. The name of the export follows from it, so of two
 * requests with one key, at the same moment and in any replica, one makes it and the other finds it.
 */
export class RepeatKey {
  readonly #key: string;

  private constructor(key: string) {
    this.#key = key;
  }

  /** @throws PublicError unprocessable when the header is no key */
  static parse(header: string | undefined): RepeatKey | undefined {
    const key = parseIdempotencyKey(header);
    return key === undefined ? undefined : new RepeatKey(key);
  }

  /**
   * Mark by which the export of a request with this key is found again, if its name follows from something
   * else.
   */
  get mark(): string {
    return hashOf(this.#key);
  }

  /**
   * Looks in the archive after the API server: an export is stored there before it is deleted here.
   * @param requested parts that repetitions have in common
   * @throws PublicError conflict when the export of the key was made of another body
   */
  async createOnce(
    { home, archived }: KeyedExports,
    draft: Draft<BulkExport>,
    requested: unknown,
  ): Promise<FoundExport> {
    const { metadata } = draft;
    const { namespace = '' } = metadata;
    const name = `export-key-${hashOf(this.#key)}`;
    const body = hashOf(requested);
    const live = home.findByName(namespace, name);
    const former = live ? { bulkExport: live } : await archived(name);
    if (former) return this.#repeated(former, body);
    const annotations = { ...metadata.annotations, [ANNOTATION.requestHash]: body };
    try {
      return { bulkExport: await home.create({ ...draft, metadata: { ...metadata, name, annotations } }) };
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const bulkExport = await home.change({ namespace, name }, (current) => current);
      return this.#repeated({ bulkExport }, body);
    }
  }

  #repeated(former: FoundExport, body: string): FoundExport {
    if (former.bulkExport.metadata.annotations?.[ANNOTATION.requestHash] === body) return former;
    throw new PublicError(
      'conflict',
      `Idempotency-Key ${this.#key} was used with another body; send the same body, or another key`,
    );
  }
}
