import { isLeftOut, NOT_CONTENT, SECRET_EXAMPLES, SECRET_FILES } from '#lib/image-store';

/** An image goes to a registry: what tends to hold secrets stays behind. */
const LEFT_OUT = [
  ...[...NOT_CONTENT, ...SECRET_FILES].map((name) => `**/${name}`),
  ...SECRET_EXAMPLES.map((name) => `!**/${name}`),
];

/**
 * The lines of an ignore file, of which the last that fits a path decides. The folder's own exceptions come
 * after the lines for secrets only where they name such a file: `!src` is about sources, not about
 * `src/.env`.
 */
export function ignoredLines(own: readonly string[]): readonly string[] {
  const lines = own.flatMap((text) => text.split(/\r?\n/)).map((line) => line.trim());
  return [...lines, ...LEFT_OUT, ...lines.filter(namesLeftOut)];
}

/** `!.env`, `!config/.env.*`, `!*.key`, `!.aws/config`, and `prod.key` behind them. A star alone names nothing. */
function namesLeftOut(line: string): boolean {
  const parts = line.replace(/^!/, '').trim().split('/');
  return parts.some((part) => isLeftOut(part.replaceAll('*', '')) || isLeftOut(part.replaceAll('*', 'x')));
}
