/** The part of pg-copy-streams that is used; the package has no types of its own. */
declare module 'pg-copy-streams' {
  import type { Readable, Writable } from 'node:stream';
  import type { Submittable } from 'pg';

  export type CopyIn = Writable & Submittable & { readonly rowCount: number };
  export function from(sql: string): CopyIn;
}
