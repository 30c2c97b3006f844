/** The answer to a command. @param result JSON text, which may be large */
export function renderSuccess(id: number, result: string, threadId: string): string {
  const meta = JSON.stringify({ thread_id: threadId });
  return `{"type":"success","id":${id},"result":${result},"meta":${meta}}`;
}

/** Reasons for which a command of the thread stream protocol is refused. */
export type CommandErrorCode =
  | 'invalid_argument'
  | 'unknown_command'
  | 'no_such_run'
  | 'no_such_subscription'
  | 'no_such_interrupt'
  | 'permission_denied'
  | 'not_supported';

/** A command that is refused; the message is for the caller. */
export class CommandError extends Error {
  override readonly name = 'CommandError';

  constructor(
    readonly code: CommandErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
