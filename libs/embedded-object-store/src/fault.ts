/** Criteria by which a fault is chosen. */
export interface FaultTarget {
  readonly method: string;
  readonly bucket: string;
  readonly key: string;
  readonly query: ReadonlyMap<string, string>;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Failure of one request, for tests of clients. */
export type Fault =
  /** The connection is cut before anything is done. */
  | { readonly kind: 'reset' }
  /** The request is done, then the connection is cut instead of an answer. */
  | { readonly kind: 'lost-answer' }
  /** The answer is this error and nothing is done. */
  | {
      readonly kind: 'error';
      readonly code:
        | 'InternalError'
        | 'SlowDown'
        | 'AccessDenied'
        | 'NotImplemented'
        | 'NoSuchUpload'
        | 'PreconditionFailed';
    }
  /** The request is done after this many milliseconds. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** The request is done once this is settled. */
  | { readonly kind: 'hold'; readonly until: Promise<unknown> };

export type FaultHook = (target: FaultTarget) => Fault | undefined;
