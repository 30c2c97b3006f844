import { readFileSync } from 'node:fs';

/** One block of docs/reading-exports.md. */
export interface PageLines {
  /** The heading above. */
  readonly reader: string;
  readonly language: string;
  /** `prefix`: the exports in v2_beta below a prefix, whatever else lies there. */
  readonly reads: 'file' | 'folder' | 'prefix';
  readonly format: 'parquet' | 'jsonl';
  readonly lines: string;
}

/** Every block that reads something, in the order of the page. */
export function pageLines(): readonly PageLines[] {
  const page = readFileSync('docs/reading-exports.md', 'utf8');
  return page.split(/^## /m).flatMap((section) => {
    const [reader = ''] = section.split('\n');
    const blocks = section.matchAll(/^```(\w+) (file|folder|prefix)( jsonl)?\n(.*?)^```$/gms);
    return [...blocks].map(([, language = '', reads, isJsonl, lines = '']) => ({
      reader,
      language,
      lines,
      format: isJsonl === undefined ? 'parquet' : 'jsonl',
      reads: reads as PageLines['reads'],
    }));
  });
}
