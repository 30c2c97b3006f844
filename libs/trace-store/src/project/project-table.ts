import type { EntityManager, Repository, SelectQueryBuilder } from 'typeorm';
import { PublicError } from '#lib/errors';
import { isJsonObject, jsonContains, type JsonObject, parseJson } from '#lib/json';
import { type Queryable, sqlState } from '#lib/postgres';
import { isUuid } from '#lib/resources';
import { type ControlTables, takeLimitLock } from '../control/control-tables.js';
import { findDeletion, forgetDeletion, isBeingDeleted, recordDeletion } from './project-deletions.js';
import type { ProjectEntity } from './project-entity.js';
import {
  type NewProjectDetails,
  type Project,
  type ProjectDetails,
  type ProjectReference,
  type ProjectSearch,
  TooManyProjectsError,
} from './project.js';

type NewProject = NewProjectDetails & {
  readonly tenantId: string;
  readonly name: string;
};

function parse(entity: ProjectEntity): Project {
  const { description, extra, startTime, endTime, traceTier, referenceDatasetId, testRunNumber } = entity;
  return {
    ...entity,
    description: description ?? undefined,
    extra: extra ?? undefined,
    startTime: startTime ?? undefined,
    endTime: endTime ?? undefined,
    traceTier: traceTier ?? undefined,
    referenceDatasetId: referenceDatasetId ?? undefined,
    testRunNumber: testRunNumber ?? undefined,
  };
}

function hasMetadata(extra: string | null, part: JsonObject): boolean {
  const value: unknown = extra === null ? undefined : parseJson(extra);
  return isJsonObject(value) && jsonContains(part, value['metadata']);
}

/** SQLSTATE of a unique key that is violated. */
const NAME_TAKEN = '23505';

/** A tenant may have any number of projects: they are looked at in memory, and never all at once. */
const SLICE = 100;

/** Checked here and not in SQL: text that is JSON may hold characters that jsonb refuses. */
async function* inSlices(
  query: SelectQueryBuilder<ProjectEntity>,
): AsyncGenerator<ProjectEntity, void, void> {
  const columns = ['project.id', 'project.tenantId', 'project.createdAt'];
  const ids = (await query.clone().select(columns).getMany()).map(({ id }) => id);
  for (let from = 0; from < ids.length; from += SLICE) {
    const slice = ids.slice(from, from + SLICE);
    yield* await query.clone().andWhere('project.id = ANY(:slice)', { slice }).getMany();
  }
}

/** The table `projects`. Ids belong to one tenant: another's are not shown and do not conflict. */
/** Observer of changes for all caches of projects. */
export interface ProjectObserver {
  /** A project may have another name or tier, or was deleted. */
  changed(): void;
  /** A project was deleted: its rows are to be removed. */
  deleted(): void;
}

/** Tracing projects of one tenant at a time. */
export class ProjectTable {
  readonly #tables: ControlTables;
  readonly #db: Queryable;
  readonly #max: number;
  readonly #observer: ProjectObserver;

  constructor(
    tables: ControlTables,
    db: Queryable,
    {
      max = Number.POSITIVE_INFINITY,
      observer,
    }: { max?: number | undefined; observer?: ProjectObserver } = {},
  ) {
    this.#tables = tables;
    this.#db = db;
    this.#max = max;
    this.#observer = observer ?? { changed: () => undefined, deleted: () => undefined };
  }

  /**
   * The project of this name, made when it is missing. Safe in any number of processes at once.
   * @throws PublicError not_found for a dataset that does not exist
   */
  async ensure(tenantId: string, name: string, options: NewProjectDetails = {}): Promise<Project> {
    const repository = await this.#repository();
    // Looked up first: an INSERT that conflicts writes to the table all the same. The loop ends: after a conflict the row
    // exists, unless it was deleted at this very moment.
    for (let attempt = 0; attempt < 5; attempt++) {
      const found = await repository.findOneBy({ tenantId, name });
      if (found) return parse(found);
      await this.#insert({ ...options, tenantId, name });
    }
    throw new PublicError(
      'conflict',
      `creating the project ${name} failed: the id ${options.id} is taken; choose another`,
    );
  }

  /**
   * @returns the updated project; undefined when no project has this id
   * @throws PublicError conflict when another project has the name
   */
  async update(
    tenantId: string,
    id: string,
    change: ProjectDetails & { readonly name?: string | undefined },
  ): Promise<Project | undefined> {
    if (!isUuid(id)) return undefined;
    const repository = await this.#repository();
    const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
    try {
      if (Object.keys(given).length > 0) await repository.update({ tenantId, id }, given);
    } catch (error) {
      if (!(error instanceof Error && 'driverError' in error && sqlState(error.driverError) === NAME_TAKEN))
        throw error;
      throw new PublicError('conflict', `Session with name ${change.name} already exists`, [], {
        cause: error,
      });
    } finally {
      this.#observer.changed();
    }
    return this.find(tenantId, { id });
  }

  /** Finds a project by id or by exact name; undefined also for another tenant's. */
  async find(
    tenantId: string,
    by: { readonly id: string } | { readonly name: string },
  ): Promise<Project | undefined> {
    if ('id' in by && !isUuid(by.id)) return undefined;
    const repository = await this.#repository();
    const found = await repository.findOneBy({
      tenantId,
      ...('id' in by ? { id: by.id } : { name: by.name }),
    });
    return found ? parse(found) : undefined;
  }

  /** Makes projects of these names, as far as the tenant may have more; those that exist stay as they are. */
  async ensureAll(
    tenantId: string,
    names: readonly string[],
  ): Promise<readonly Pick<Project, 'id' | 'name'>[]> {
    const repository = await this.#repository();
    const isBounded = this.#max < Number.POSITIVE_INFINITY;
    const room = isBounded ? Math.max(0, this.#max - (await repository.countBy({ tenantId }))) : names.length;
    const fitting = names.slice(0, room);
    if (fitting.length === 0) return [];
    // sorted: two batches with the same names wait for one another instead of deadlocking
    await repository.query(
      `INSERT INTO projects (tenant_id, name) SELECT $1, n FROM unnest($2::text[]) AS n ORDER BY n ON CONFLICT DO NOTHING`,
      [tenantId, fitting],
    );
    return this.findAll(
      tenantId,
      fitting.map((name) => ({ kind: 'name', name }) as const),
    );
  }

  /** Existing projects among these, in no order; only their ids and names. */
  async findAll(
    tenantId: string,
    references: readonly ProjectReference[],
  ): Promise<readonly Pick<Project, 'id' | 'name'>[]> {
    if (references.length === 0) return [];
    const ids = references.flatMap((one) => (one.kind === 'id' && isUuid(one.id) ? one.id : []));
    const names = references.flatMap((one) => (one.kind === 'name' ? one.name : []));
    return (await this.#repository())
      .createQueryBuilder('project')
      .select(['project.tenantId', 'project.id', 'project.name'])
      .where({ tenantId })
      .andWhere('(project.id = ANY(:ids) OR project.name = ANY(:names))', { ids, names })
      .getMany();
  }

  /** Newest first. */
  async list(tenantId: string, options: ProjectSearch = {}): Promise<readonly Project[]> {
    const { name, nameContains, ids, metadata, limit = 100, offset = 0 } = options;
    const { referenceDatasetIds: datasetIds, isExperiment } = options;
    const query = (await this.#repository())
      .createQueryBuilder('project')
      .where({ tenantId, ...(name === undefined ? {} : { name }) })
      .orderBy({ 'project.createdAt': 'DESC', 'project.id': 'ASC' });
    if (nameContains !== undefined)
      query.andWhere('strpos(lower(project.name), lower(:part)) > 0', { part: nameContains });
    if (ids) query.andWhere('project.id = ANY(:ids)', { ids: ids.filter(isUuid) });
    if (datasetIds)
      query.andWhere('project.referenceDatasetId = ANY(:datasetIds)', {
        datasetIds: datasetIds.filter(isUuid),
      });
    if (isExperiment !== undefined)
      query.andWhere(`project.referenceDatasetId IS ${isExperiment ? 'NOT ' : ''}NULL`);
    if (metadata === undefined) return (await query.take(limit).skip(offset).getMany()).map(parse);
    const matching: Project[] = [];
    let toSkip = offset;
    for await (const project of inSlices(query))
      if (hasMetadata(project.extra, metadata) && --toSkip < 0 && matching.push(parse(project)) >= limit)
        break;
    return matching;
  }

  /**
   * Deletes the project: from then on it and its runs are not found, and its name is free. Their rows are
   * removed afterwards, by this process and by `tidy()` of any. False when it did not exist.
   */
  async delete(tenantId: string, id: string): Promise<boolean> {
    const isDeleted = isUuid(id) && (await recordDeletion(this.#db, tenantId, id));
    if (isDeleted) this.#observer.changed();
    if (isDeleted) this.#observer.deleted();
    return isDeleted;
  }

  /**
   * Time at which the project of this id was deleted; undefined when that is more than a month ago, or never
   * happened.
   */
  async deletedAt(tenantId: string, id: string): Promise<Date | undefined> {
    return isUuid(id) ? findDeletion(this.#db, tenantId, id) : undefined;
  }

  /**
   * Inserts a project; does nothing when its name or id is taken.
   * @throws TooManyProjectsError; PublicError conflict when rows of a deleted one have the id
   */
  async #insert(project: NewProject): Promise<void> {
    const { ProjectEntity } = await import('./project-entity.js');
    const source = await this.#tables.source();
    await source.transaction(async (manager) => {
      await this.#makeRoom(manager, project);
      const testRunNumber = await numberExperiment(manager, project);
      const values = { ...project, ...(testRunNumber === undefined ? {} : { testRunNumber }) };
      await manager.createQueryBuilder().insert().into(ProjectEntity).values(values).orIgnore().execute();
      if (project.id === undefined) return;
      // after it: a deletion of the id that was under way has ended
      if (await isBeingDeleted(manager, project.tenantId, project.id))
        throw new PublicError(
          'conflict',
          `creating the project ${project.name} failed: runs of the deleted project ${project.id} are still being removed; choose another id or try again later`,
        );
      await forgetDeletion(manager, project.tenantId, project.id);
    });
  }

  async #makeRoom(manager: EntityManager, { tenantId, name }: NewProject): Promise<void> {
    if (this.#max === Number.POSITIVE_INFINITY) return;
    const { ProjectEntity } = await import('./project-entity.js');
    await takeLimitLock(manager, 'projects', tenantId);
    const projects = manager.getRepository(ProjectEntity);
    if ((await projects.countBy({ tenantId })) < this.#max) return;
    // another transaction may have made the project while this one waited for the lock
    if (!(await projects.existsBy({ tenantId, name }))) throw new TooManyProjectsError(name, this.#max);
  }

  async #repository(): Promise<Repository<ProjectEntity>> {
    const { ProjectEntity } = await import('./project-entity.js');
    return this.#tables.repository(ProjectEntity);
  }
}

export type Projects = Pick<ProjectTable, keyof ProjectTable>;

/** The dataset's row is locked: it is not deleted before the experiment is there. @throws PublicError not_found */
async function numberExperiment(
  manager: EntityManager,
  { tenantId, referenceDatasetId }: NewProject,
): Promise<number | undefined> {
  if (referenceDatasetId === undefined) return undefined;
  const [rows] = await manager.query<[{ readonly experiments: number }[], number]>(
    `UPDATE datasets SET experiments = experiments + 1 WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL
    RETURNING experiments`,
    [tenantId, referenceDatasetId],
  );
  if (rows[0]) return rows[0].experiments;
  throw new PublicError('not_found', `Dataset ${referenceDatasetId} not found`);
}
