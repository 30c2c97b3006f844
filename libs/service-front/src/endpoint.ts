import type { LookupFunction } from 'node:net';

/** Address of a ready pod. */
export interface Endpoint {
  readonly pod: string;
  /** This machine where missing. */
  readonly host?: string;
  readonly port: number;
  /** Finds the addresses of `host`, where it is a name. */
  readonly lookup?: LookupFunction;
}
