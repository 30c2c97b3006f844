import type { RequestContext } from '../http/request-context.js';
import { CommittedObject, type StoredObject } from '../store/stored-object.js';

/**
 * Letters of objects between two turns of a request: other requests are served after so many. A dry run, or a deletion of
 * marked objects, waits for no database between two of thousands of deletions.
 */
export const LETTERS_OF_TURN = 256 * 1024;

type Turns = Pick<RequestContext, 'nextTurn' | 'signal'>;

/** Also for a client that has disconnected, which is looked at afterwards. */
export async function nextTurn({ nextTurn, signal }: Turns): Promise<void> {
  await nextTurn().catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

/** Unpacks objects for a reader that looks at all of them in one turn. They stay unpacked for a minute. */
export async function unpackInTurns(context: Turns, objects: readonly StoredObject[]): Promise<void> {
  let letters = 0;
  for (const stored of objects) {
    if (stored instanceof CommittedObject) letters += stored.unpack();
    if (context.signal.aborted) return;
    if (letters < LETTERS_OF_TURN) continue;
    await nextTurn(context);
    letters = 0;
  }
}
