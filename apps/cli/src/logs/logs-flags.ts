import type { TargetFlags } from '../context/target.js';

export interface LogsFlags extends TargetFlags {
  readonly namespace: string | undefined;
  readonly revision: string | undefined;
  readonly container: string | undefined;
  readonly follow: boolean;
  readonly previous: boolean;
  readonly tail: number | undefined;
  /** Milliseconds before now. */
  readonly since: number | undefined;
  readonly timestamps: boolean;
  /** Undefined: for people. */
  readonly output: 'json' | undefined;
}
