import type { LoggerService } from '@nestjs/common';
import type { Logger } from '#lib/telemetry';

/**
 * Nest's own messages in the program's log. Messages about modules and routes during the start are debug: the
 * program reports itself when it serves.
 */
export class NestLog implements LoggerService {
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  log(message: unknown, ...more: readonly unknown[]): void {
    this.#log.debug(fieldsOf(message, more), 'framework');
  }

  debug(message: unknown, ...more: readonly unknown[]): void {
    this.#log.debug(fieldsOf(message, more), 'framework');
  }

  verbose(message: unknown, ...more: readonly unknown[]): void {
    this.#log.debug(fieldsOf(message, more), 'framework');
  }

  warn(message: unknown, ...more: readonly unknown[]): void {
    this.#log.warn(fieldsOf(message, more), 'framework warning');
  }

  error(message: unknown, ...more: readonly unknown[]): void {
    this.#log.error(fieldsOf(message, more), 'framework error');
  }

  fatal(message: unknown, ...more: readonly unknown[]): void {
    this.#log.error(fieldsOf(message, more), 'framework error');
  }
}

/** Nest puts the name of the part last; a stack may precede it. */
function fieldsOf(message: unknown, more: readonly unknown[]): object {
  const words = more.filter((word) => typeof word === 'string');
  const part = words.at(-1);
  const stack = words.length > 1 ? words[0] : undefined;
  return {
    ...(part === undefined ? {} : { part }),
    ...(message instanceof Error ? { err: message } : { detail: String(message) }),
    ...(stack === undefined ? {} : { stack }),
  };
}
