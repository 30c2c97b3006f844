/** Rows of runs and of threads hold the message of an error, and so do heads of frames. */
const MAX_MESSAGE_CHARS = 16 * 1024;

/**
 * The message or stack of an error, shortened: its text may quote the value that it was thrown for, of any
 * length.
 */
export function shortMessage(message: string): string {
  if (message.length <= MAX_MESSAGE_CHARS) return message;
  return `${message.slice(0, MAX_MESSAGE_CHARS).toWellFormed()}… (${message.length - MAX_MESSAGE_CHARS} more characters)`;
}
