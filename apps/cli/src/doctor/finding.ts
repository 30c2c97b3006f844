/** Result of one check of the platform's requirements. */
export interface Finding {
  readonly check: string;
  /** `warning`: something cannot be used; `failed`: the platform does not work. */
  readonly state: 'ok' | 'warning' | 'failed';
  readonly found: string;
  /** Remedy; empty when all is well. */
  readonly advice: string;
}

export function ok(check: string, found: string): Finding {
  return { check, state: 'ok', found, advice: '' };
}
