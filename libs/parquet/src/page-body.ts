import type { BlockChain } from './block-chain.js';

/** A page as it is written, behind its header: pieces, then what waits in blocks already. */
export interface PageBody {
  readonly pieces: readonly Buffer[];
  readonly rest?: BlockChain;
  /**
   * Result of a trial of looking back on this page; undefined without a trial, or when the page was too
   * short.
   */
  readonly lookingBackPays?: boolean | undefined;
}
