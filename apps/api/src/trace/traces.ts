import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import type { Project, StoredRun, TraceStore } from '#lib/trace-store';
import type { CreateSessionRequest, SessionsQuery } from './session-request.js';

/** Reading and arranging traces of a tenant. */
export class Traces {
  constructor(private readonly store: Pick<TraceStore, 'runs' | 'projects'>) {}

  /** @throws PublicError not_found */
  async getRun(caller: Caller, id: string): Promise<StoredRun> {
    const run = await this.#findRun(caller, id);
    if (!run) throw new PublicError('not_found', `Run with ID ${id} not found`);
    return run;
  }

  async #findRun(caller: Caller, id: string): Promise<StoredRun | undefined> {
    if (caller.scope !== 'deployment') return this.store.runs.get(caller.tenantId, id);
    const own = await this.store.projects.find(caller.tenantId, { name: caller.project });
    return own && this.store.runs.get(caller.tenantId, id, own.id);
  }

  /** @throws PublicError not_found */
  async getProject(tenantId: string, id: string): Promise<Project> {
    const project = await this.store.projects.find(tenantId, { id });
    if (!project) throw new PublicError('not_found', `Session with ID ${id} not found`);
    return project;
  }

  async listProjects(tenantId: string, query: SessionsQuery): Promise<readonly Project[]> {
    return this.store.projects.list(tenantId, {
      name: query.name,
      nameContains: query.name_contains,
      ids: query.id,
      limit: query.limit,
      offset: query.offset,
    });
  }

  /** @throws PublicError conflict when there is one of that name and `upsert` does not allow for it */
  async createProject(tenantId: string, request: CreateSessionRequest, upsert: boolean): Promise<Project> {
    const found = await this.store.projects.find(tenantId, { name: request.name });
    if (found && !upsert)
      throw new PublicError('conflict', `Session with name ${request.name} already exists`);
    return (
      found ??
      this.store.projects.ensure(tenantId, request.name, {
        id: request.id ?? undefined,
        description: request.description ?? undefined,
        extra: request.extra ? JSON.stringify(request.extra) : undefined,
      })
    );
  }

  /** @throws PublicError not_found */
  async deleteProject(tenantId: string, id: string): Promise<void> {
    if (!(await this.store.projects.delete(tenantId, id)))
      throw new PublicError('not_found', `Session with ID ${id} not found`);
  }
}
