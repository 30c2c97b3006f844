import type { ProjectReference } from './project-reference.js';
import type { Projects } from './project.js';

/** Where runs go that name no project. */
const DEFAULT_PROJECT = 'default';
/** Names and ids that are remembered; a memory of more begins anew. */
const MAX_KNOWN = 10_000;

/** Remembers which project a name or id means, so that a batch of runs costs no query for it. */
export class ProjectDirectory {
  readonly #projects: Projects;
  readonly #known = new Map<string, string>();

  constructor(projects: Projects) {
    this.#projects = projects;
  }

  /**
   * The project's id. A name that is not there yet is made a project.
   * @returns undefined for an id that is none of this tenant's
   */
  async resolve(
    tenantId: string,
    reference: ProjectReference = { kind: 'name', name: DEFAULT_PROJECT },
  ): Promise<string | undefined> {
    const key = keyOf(tenantId, reference);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const project =
      reference.kind === 'name'
        ? await this.#projects.ensure(tenantId, reference.name)
        : await this.#projects.find(tenantId, reference);
    if (!project) return undefined;
    if (this.#known.size >= MAX_KNOWN) this.forget();
    this.#known.set(key, project.id);
    return project.id;
  }

  /** Looks this one up again next time, for a caller who has reason to doubt the answer. */
  doubt(tenantId: string, reference: ProjectReference): void {
    this.#known.delete(keyOf(tenantId, reference));
  }

  forget(): void {
    this.#known.clear();
  }
}

function keyOf(tenantId: string, reference: ProjectReference): string {
  return JSON.stringify([tenantId, reference]);
}
