/** Where a ready pod listens. */
export interface Endpoint {
  readonly pod: string;
  /** This machine where missing. */
  readonly host?: string;
  readonly port: number;
}
