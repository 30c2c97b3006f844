import { DISK_FULL } from '#lib/lifecycle';
import { REASON } from '#lib/resources';
import type { Shortage } from './watched-disk.js';

/** Reason why a build ended, as a sentence for the people whose repository it is. */
export class BuildError extends Error {
  override readonly name: string = 'BuildError';
  /** Reason in the termination message, from which the controller derives the outcome. */
  readonly reason: string = REASON.buildFailed;
}

/** A disk has too little free, and not because of this build, as far as it is known: another time it may be built. */
export class DiskFullError extends BuildError {
  override readonly name = 'DiskFullError';
  override readonly reason = DISK_FULL;
  readonly shortage: Shortage;

  constructor(shortage: Shortage) {
    super(shortage.problem);
    this.shortage = shortage;
  }
}
