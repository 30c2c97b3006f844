import { PublicError } from '#lib/errors';

/** A tenant has as many projects as it may. */
export class TooManyProjectsError extends PublicError {
  constructor(name: string, max: number) {
    super(
      'forbidden',
      `creating the project ${name} failed: the workspace has ${max} projects, the most that it may; delete some`,
    );
    this.name = 'TooManyProjectsError';
  }
}
