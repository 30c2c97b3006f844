import type { ExitName } from '#lib/command-line';

/** A command cannot do what was asked. The message says what failed, what was found and what to do next. */
export class CommandError extends Error {
  constructor(
    readonly exit: ExitName,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'CommandError';
  }
}
