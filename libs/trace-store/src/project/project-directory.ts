import type { Clock } from '#lib/time';
import { type ProjectReference, TooManyProjectsError } from './project.js';
import type { ProjectTable } from './project-table.js';

/** Project of runs that name none. */
export const DEFAULT_PROJECT: ProjectReference = { kind: 'name', name: 'default' };
/** Names and ids that are remembered; a memory of more begins anew. */
const MAX_KNOWN = 10_000;
/** Another process may give a project a new name. */
const KNOWN_FOR_MS = 30_000;

type ProjectSource = Pick<ProjectTable, 'ensure' | 'ensureAll' | 'find' | 'findAll'>;

/** Remembers which project a name or id means, so that a batch of runs costs no query for it. */
export class ProjectDirectory {
  readonly #known = new Map<string, { readonly id: string; readonly untilMs: number }>();

  constructor(
    private readonly projects: ProjectSource,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
  ) {}

  /**
   * The project's id. A name that does not exist yet creates a project.
   * @returns undefined for an id that does not belong to this tenant
   */
  async resolve(tenantId: string, reference: ProjectReference): Promise<string | undefined> {
    const known = this.#recall(keyOf(tenantId, reference));
    if (known !== undefined) return known;
    const project =
      reference.kind === 'name'
        ? await this.projects.ensure(tenantId, reference.name)
        : await this.projects.find(tenantId, reference);
    return project && this.#remember(tenantId, reference, project.id);
  }

  /**
   * The same for all references of a batch, in their order; unknown ones are looked up together. A project
   * that exceeds the limit gets an error instead of an id.
   */
  async resolveAll(
    tenantId: string,
    references: readonly ProjectReference[],
  ): Promise<readonly (string | TooManyProjectsError | undefined)[]> {
    const wanted = new Map(references.map((reference) => [keyOf(tenantId, reference), reference]));
    const found = new Map<string, string | TooManyProjectsError>();
    for (const key of wanted.keys()) {
      const known = this.#recall(key);
      if (known !== undefined) found.set(key, known);
    }
    const unknown = [...wanted].filter(([key]) => !found.has(key)).map(([, reference]) => reference);
    for (const { id, name } of await this.projects.findAll(tenantId, unknown))
      for (const reference of [{ kind: 'id', id } as const, { kind: 'name', name } as const])
        if (wanted.has(keyOf(tenantId, reference)))
          found.set(keyOf(tenantId, reference), this.#remember(tenantId, reference, id));
    await this.#makeAll(tenantId, unknown, found);
    return references.map((reference) => found.get(keyOf(tenantId, reference)));
  }

  /** Makes projects of the names that are not in `found` yet, and adds them. */
  async #makeAll(
    tenantId: string,
    references: readonly ProjectReference[],
    found: Map<string, string | TooManyProjectsError>,
  ): Promise<void> {
    const missing = references.flatMap((one) =>
      one.kind === 'name' && !found.has(keyOf(tenantId, one)) ? one.name : [],
    );
    if (missing.length === 0) return;
    const add = (name: string, project: string | TooManyProjectsError): unknown =>
      found.set(keyOf(tenantId, { kind: 'name', name }), project);
    const made = await this.projects.ensureAll(tenantId, missing);
    for (const { id, name } of made) add(name, this.#remember(tenantId, { kind: 'name', name }, id));
    const known = new Set(made.map(({ name }) => name));
    let full: TooManyProjectsError | undefined;
    for (const name of missing.filter((one) => !known.has(one)))
      try {
        const one: string | TooManyProjectsError =
          full?.of(name) ?? (await this.projects.ensure(tenantId, name)).id;
        add(name, one);
      } catch (error) {
        if (!(error instanceof TooManyProjectsError)) throw error;
        full = error;
        add(name, error);
      }
  }

  #recall(key: string): string | undefined {
    const known = this.#known.get(key);
    return known && known.untilMs > this.clock.monotonicMs() ? known.id : undefined;
  }

  #remember(tenantId: string, reference: ProjectReference, id: string): string {
    if (this.#known.size >= MAX_KNOWN) this.forget();
    const untilMs = this.clock.monotonicMs() + KNOWN_FOR_MS;
    this.#known.set(keyOf(tenantId, reference), { id, untilMs });
    return id;
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
