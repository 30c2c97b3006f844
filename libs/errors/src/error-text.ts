/** The message of anything that was thrown, with its causes, without stack traces. */
export function errorText(thrown: unknown): string {
  const parts: string[] = [];
  for (let at: unknown = thrown, depth = 0; at !== undefined && depth < 5; depth++) {
    if (at instanceof Error) {
      parts.push(at.message || at.name);
      at = at.cause;
    } else {
      parts.push(textOf(at));
      break;
    }
  }
  return parts.join(': ');
}

/** Anything may be thrown, also what no text can be made of. */
function textOf(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return 'something was thrown that cannot be shown';
  }
}
