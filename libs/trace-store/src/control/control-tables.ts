import type { Repository } from 'typeorm';
import type { ApiKeyEntity } from './api-key-entity.js';
import type { ProjectEntity } from './project-entity.js';

type Source = Awaited<ReturnType<typeof import('./open-control-source.js').openControlSource>>;

/**
 * Repositories of the small tables, opened by the first use. Bulk work does not come near: an entity at a time costs
 * three times the CPU of a plain statement, and the export worker, which has no use for these tables, never loads them.
 */
export class ControlTables {
  readonly #uri: string;
  #source: Promise<Source> | undefined;

  constructor(uri: string) {
    this.#uri = uri;
  }

  async projects(): Promise<Repository<ProjectEntity>> {
    const { ProjectEntity } = await import('./project-entity.js');
    return (await this.#opened()).getRepository(ProjectEntity);
  }

  async apiKeys(): Promise<Repository<ApiKeyEntity>> {
    const { ApiKeyEntity } = await import('./api-key-entity.js');
    return (await this.#opened()).getRepository(ApiKeyEntity);
  }

  async close(): Promise<void> {
    const source = await this.#source?.catch(() => undefined);
    await source?.destroy();
  }

  #opened(): Promise<Source> {
    this.#source ??= this.#open();
    return this.#source;
  }

  async #open(): Promise<Source> {
    try {
      const { openControlSource } = await import('./open-control-source.js');
      return await openControlSource(this.#uri);
    } catch (error) {
      // the next use tries again
      this.#source = undefined;
      throw error;
    }
  }
}
