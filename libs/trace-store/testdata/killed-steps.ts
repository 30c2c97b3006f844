import type { ObjectStore } from '#lib/object-store';
import type { Connection, Pool } from '#lib/postgres';
import type { Change, Interruption } from './lake-commands.js';

/** The end of a process. */
export class Killed extends Error {}

/** A pool and an object store whose user dies, or is interrupted, before a step. */
export class Steps {
  #step = 0;
  #isDead = false;
  #isDone = false;

  constructor(
    private readonly interruption: Interruption | undefined,
    private readonly perform: (change: Change) => Promise<void>,
  ) {}

  /** @param isFree false within a transaction, whose locks others would wait for */
  async #next(isFree: boolean): Promise<void> {
    if (this.#isDead) throw new Killed('killed');
    const { step, change: wanted } = this.interruption ?? { step: -1, change: undefined };
    const isNow = wanted && !isFree ? false : this.#step >= step && step >= 0;
    this.#step++;
    if (!isNow || (wanted && this.#isDone)) return;
    if (!wanted) {
      this.#isDead = true;
      throw new Killed('killed');
    }
    this.#isDone = true;
    await this.perform(wanted);
  }

  pool(pool: Pool): Pool {
    return new Proxy(pool, {
      get: (target, name) => {
        if (name === 'query')
          return async (...given: Parameters<Pool['query']>) => {
            await this.#next(true);
            return target.query(...given);
          };
        if (name === 'connect')
          return async () => {
            await this.#next(true);
            return this.#connection(await target.connect());
          };
        return Reflect.get(target, name) as unknown;
      },
    });
  }

  #connection(client: Connection): Connection {
    const query = client.query.bind(client) as (...given: unknown[]) => unknown;
    const release = client.release.bind(client);
    Object.assign(client, {
      query: (...given: unknown[]) => {
        const isStream = typeof given[0] === 'object' && given[0] !== null && 'submit' in given[0];
        if (!isStream) return this.#next(false).then(() => query(...given));
        if (this.#isDead) throw new Killed('killed');
        return query(...given);
      },
      release: (error?: Error | boolean) => {
        Reflect.deleteProperty(client, 'query');
        Reflect.deleteProperty(client, 'release');
        release(error);
      },
    });
    return client;
  }

  store(store: ObjectStore): ObjectStore {
    return new Proxy(store, {
      get: (target, name) => {
        const member = Reflect.get(target, name) as unknown;
        if (name === 'put')
          return async (...given: Parameters<ObjectStore['put']>) => {
            await this.#next(true);
            return target.put(...given);
          };
        if (name !== 'startMultipartUpload')
          return typeof member === 'function' ? member.bind(target) : member;
        return async (...given: Parameters<ObjectStore['startMultipartUpload']>) => {
          await this.#next(true);
          const upload = await target.startMultipartUpload(...given);
          return {
            uploadId: upload.uploadId,
            write: (chunk: Buffer) => upload.write(chunk),
            complete: async () => {
              await this.#next(true);
              return upload.complete();
            },
            // a process that is dead aborts nothing
            abort: () => (this.#isDead ? Promise.resolve() : upload.abort()),
          };
        };
      },
    });
  }
}
