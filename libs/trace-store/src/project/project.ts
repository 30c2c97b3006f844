import { PublicError } from '#lib/errors';
import type { JsonObject } from '#lib/json';

/** Project that a run belongs to; without one it is the project `default`. */
export type ProjectReference =
  { readonly kind: 'id'; readonly id: string } | { readonly kind: 'name'; readonly name: string };

/** A tenant has as many projects as it may. */
export class TooManyProjectsError extends PublicError {
  readonly #max: number;

  constructor(name: string, max: number) {
    super(
      'forbidden',
      `creating the project ${name} failed: the workspace has ${max} projects, the most that it may; delete some`,
    );
    this.name = 'TooManyProjectsError';
    this.#max = max;
  }

  /** The same of another project. */
  of(name: string): TooManyProjectsError {
    return new TooManyProjectsError(name, this.#max);
  }
}

/** A tracing project, `session` on the wire. */
export interface Project {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly description: string | undefined;
  /** JSON text as it came. */
  readonly extra: string | undefined;
  /** Start time that its maker gave; undefined: the time when it was made. */
  readonly startTime: Date | undefined;
  /** Time of completion, if a client reported it. */
  readonly endTime: Date | undefined;
  readonly traceTier: string | undefined;
  /**
   * Dataset on whose examples an experiment was run, and its number among the experiments of that dataset.
   */
  readonly referenceDatasetId: string | undefined;
  readonly testRunNumber: number | undefined;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Details of a project that a client may set; absent members stay as they are. */
export interface ProjectDetails {
  readonly description?: string | undefined;
  readonly extra?: string | undefined;
  readonly startTime?: Date | undefined;
  readonly endTime?: Date | undefined;
  readonly traceTier?: string | undefined;
}

/** Details of a project that can only be set when it is made. */
export interface NewProjectDetails extends ProjectDetails {
  readonly id?: string | undefined;
  /** Makes it an experiment. */
  readonly referenceDatasetId?: string | undefined;
}

/** Conditions on projects; all that are given must hold. */
export interface ProjectSearch {
  readonly name?: string;
  readonly nameContains?: string;
  readonly ids?: readonly string[];
  /** Must be a part of `extra.metadata`. */
  readonly metadata?: JsonObject;
  /** Experiments of one of these datasets. */
  readonly referenceDatasetIds?: readonly string[];
  /** True for experiments. */
  readonly isExperiment?: boolean;
  readonly limit?: number;
  readonly offset?: number;
}
