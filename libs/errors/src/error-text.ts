/** The message of anything that was thrown, with its causes, without stack traces. */
export function errorText(thrown: unknown): string {
  const parts: string[] = [];
  for (let at: unknown = thrown, depth = 0; at !== undefined && depth < 5; depth++) {
    if (at instanceof Error) {
      parts.push(at.message || at.name);
      at = at.cause;
    } else {
      parts.push(String(at));
      break;
    }
  }
  return parts.join(': ');
}
