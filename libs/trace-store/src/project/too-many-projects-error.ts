import { PublicError } from '#lib/errors';

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
