const MOST_INDENTS = 20;

/**
 * Indents JSON with each value in a line of its own; numbers and texts stay as they came, since nothing is
 * parsed.
 */
export function indented(json: string): string {
  let text = '';
  let level = 0;
  const newLine = (): string => `\n${'  '.repeat(Math.max(0, Math.min(level, MOST_INDENTS)))}`;
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"?|[{}[\]:,]|[^\s"{}[\]:,]+/gs)) {
    if (token === '}' || token === ']') {
      level--;
      text += newLine();
    }
    text += token === ':' ? ': ' : token;
    if (token === '{' || token === '[') level++;
    if (token === '{' || token === '[' || token === ',') text += newLine();
    // brackets in brackets: the indents would be more than the values
    if (text.length > 4 * json.length + 100) return json;
  }
  return text;
}
