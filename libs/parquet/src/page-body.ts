import type { BlockChain } from './block-chain.js';

/** A page as it is written, behind its header: pieces, then what waits in blocks already. */
export interface PageBody {
  readonly pieces: readonly Buffer[];
  readonly rest?: BlockChain;
  /** What a trial on this page said of looking back far; undefined where there was none, or the page was too short. */
  readonly lookingBackPays?: boolean | undefined;
}
