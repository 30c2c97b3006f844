import { PublicError } from '#lib/errors';
import type { RunPlace } from '../run/stored-run.js';
import type { RunGroup } from './run-group.js';

/** The one project that a sender may write into. */
export class OwnProject {
  constructor(
    readonly id: string,
    readonly name: string,
  ) {}

  /** True when no operation names another project. */
  isNamedBy(groups: readonly RunGroup[]): boolean {
    return this.#foreign(groups) === undefined;
  }

  /** @throws PublicError forbidden when an operation names another project */
  checkNames(groups: readonly RunGroup[]): void {
    const foreign = this.#foreign(groups);
    if (foreign) throw this.#refusal(foreign.runId, foreign.project);
  }

  /** The first operation that names another project. */
  #foreign(groups: readonly RunGroup[]): { readonly runId: string; readonly project: string } | undefined {
    for (const { id, operations } of groups)
      for (const { change } of operations) {
        const { project } = change;
        if (project === undefined) continue;
        const isOwn =
          project.kind === 'name' ? project.name === this.name : project.id.toLowerCase() === this.id;
        if (!isOwn) return { runId: id, project: project.kind === 'name' ? project.name : project.id };
      }
    return undefined;
  }

  /** @throws PublicError forbidden when the run is stored in another project */
  checkPlace({ id, projectId }: RunPlace): void {
    if (projectId !== this.id) throw this.#refusal(id, projectId);
  }

  #refusal(runId: string, project: string): PublicError {
    return new PublicError(
      'forbidden',
      `storing the run ${runId} failed: it belongs to the tracing project ${project}, and this key writes into ${this.name} only; use that project or a key of the workspace`,
    );
  }
}
