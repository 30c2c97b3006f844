import { errorText, TerminalError, WaitingError } from '#lib/errors';
import { EVENT, REASON } from '#lib/resources';

/** Meaning of a thrown value's class for the loop. Decided here once; callers never decide again. */
export type Failure =
  | {
      /** A person or a change of the spec is needed: a look a minute, condition, one Warning event, logged as warning. */
      readonly kind: 'terminal';
      readonly reason: string;
      readonly message: string;
    }
  | {
      /** Expected and passing: requeue after `delayMs`, condition, no event, logged at debug level. */
      readonly kind: 'waiting';
      readonly reason: string;
      readonly message: string;
      readonly delayMs: number;
    }
  | {
      /** Anything else: requeue with back-off, condition, Warning event, logged as error. */
      readonly kind: 'retry';
      readonly reason: typeof EVENT.reconcileFailed;
      readonly message: string;
      readonly error: unknown;
      /** The trouble of a server that may be over at any moment: no answer, 429, 5xx. */
      readonly isTransient: boolean;
    }
  | {
      /** Another writer was first (409): requeue with back-off, nothing else. */
      readonly kind: 'conflict';
      readonly reason: typeof REASON.conflict;
      readonly message: string;
    };

/** Classifies anything that a reconciler threw. */
export function classifyFailure(thrown: unknown): Failure {
  const message = errorText(thrown);
  if (thrown instanceof TerminalError) return { kind: 'terminal', reason: thrown.reason, message };
  if (thrown instanceof WaitingError)
    return { kind: 'waiting', reason: thrown.reason, message, delayMs: thrown.delayMs };
  if (isConflict(thrown)) return { kind: 'conflict', reason: REASON.conflict, message };
  return {
    kind: 'retry',
    reason: EVENT.reconcileFailed,
    message,
    error: thrown,
    isTransient: isTransient(thrown),
  };
}

/**
 * True for the machine-readable reason of an API error, whatever class carries it: this library depends on no
 * client.
 */
function isConflict(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 409;
}

/** Words of Node for connections that broke, or gave no answer in time. */
const NO_ANSWER = /^(E(CONN|PIPE|HOST|NET|TIMEDOUT|AI_)|UND_ERR|TimeoutError$|AbortError$)/;

function isTransient(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || !('code' in thrown)) return false;
  const { code } = thrown;
  return typeof code === 'number' ? code === 429 || code >= 500 : NO_ANSWER.test(String(code));
}
