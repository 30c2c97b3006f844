import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const PLACE = /(?<file>[^\s:()'"]+\.(?:[cm]?[jt]sx?|json|py)):(?<line>\d+)(?::(?<column>\d+))?/g;

/** Lines shown before and after the one that is meant. */
const AROUND = 2;

/**
 * The lines around the first place (`src/agent.ts:12:5`) that a text names in a folder, with the column marked; undefined
 * when it names none that can be read.
 */
export function codeFrame(text: string, folder: string): string | undefined {
  for (const { groups } of text.replaceAll('file://', '').matchAll(PLACE)) {
    const [file = '', line, column] = [
      groups?.['file'],
      Number(groups?.['line']),
      Number(groups?.['column']),
    ];
    const path = resolve(folder, file);
    if (!path.startsWith(`${folder}/`) || /\/(node_modules|site-packages)\//.test(path)) continue;
    const frame = frameOf(path, line, column);
    if (frame !== undefined)
      return `  ${path.slice(folder.length + 1)}:${line}${column ? `:${column}` : ''}\n${frame}`;
  }
  return undefined;
}

function frameOf(path: string, line: number, column: number): string | undefined {
  let lines: readonly string[];
  try {
    lines = readFileSync(path, 'utf8').split('\n');
  } catch {
    return undefined;
  }
  if (line < 1 || line > lines.length) return undefined;
  const [first, last] = [Math.max(1, line - AROUND), Math.min(lines.length, line + AROUND)];
  const width = String(last).length;
  const shown: string[] = [];
  for (let number = first; number <= last; number++) {
    const text = lines[number - 1] ?? '';
    shown.push(`  ${number === line ? '>' : ' '} ${String(number).padStart(width)} | ${text}`);
    if (number === line && column > 0) {
      const blank = text.slice(0, column - 1).replace(/[^\t]/g, ' ');
      shown.push(`    ${' '.repeat(width)} | ${blank}^`);
    }
  }
  return shown.join('\n');
}
