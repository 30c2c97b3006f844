/**
 * What becomes of a method of a client when its server is this platform.
 *
 * - `works`: its row calls it against an api and checks what came.
 * - `local`: it sends nothing, or only reads what the client itself holds.
 * - `refused`: the api answers 501 with a sentence, and the client throws it.
 * - `broken`: the client itself fails, against every server.
 * - `not planned`: refused likewise; it belongs to a product that this platform is not meant to become.
 */
export type Outcome = 'works' | 'local' | 'refused' | 'not planned' | 'broken';

/** Methods of one area with one outcome. */
export interface MethodGroup {
  readonly area: string;
  readonly outcome: Outcome;
  /** Refused ones: the words of the refusal before "are not supported". */
  readonly feature?: string;
  /** By the name as it is called, what a reader must know beside the outcome, or ''. */
  readonly methods: Readonly<Record<string, string>>;
}

/** One client of one version. */
export interface ClientMethods {
  readonly title: string;
  /** Package and version whose methods these are. */
  readonly version: string;
  readonly about: string;
  readonly groups: readonly MethodGroup[];
}
