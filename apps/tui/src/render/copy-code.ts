/** Sequence that makes a terminal copy a text, also one at the other end of SSH (OSC 52). */
export function copyCode(text: string): string {
  return `\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`;
}
