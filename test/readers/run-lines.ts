import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { PageLines } from './page-lines.js';

/** A Python with the packages of install-python.sh. */
export const READERS_PYTHON = process.env.AGENTPLANE_READERS_PYTHON ?? 'python3';

export type Row = Readonly<Record<string, unknown>>;

/** Where an export lies. */
export interface ExportPaths {
  readonly file: string;
  readonly folder: string;
  /** Without a slash at its end. */
  readonly prefix: string;
}

/** The rows that lines of the page read, where FILE, FOLDER and PREFIX are these. */
export async function runLines(
  { language, lines }: PageLines,
  { file, folder, prefix }: ExportPaths,
): Promise<readonly Row[]> {
  const ready = lines.replaceAll('FILE', file).replaceAll('FOLDER', folder).replaceAll('PREFIX', prefix);
  switch (language) {
    case 'sql':
      return duckdb(ready);
    case 'js':
      return printed(process.execPath, ['--input-type=module'], `${ready}\n${PRINT}`);
    case 'python':
    case 'clickhouse':
    case 'pyspark':
      return printed(READERS_PYTHON, [join(import.meta.dirname, 'print_rows.py'), language], ready);
    default:
      throw new Error(`a block of docs/reading-exports.md has the language ${language}`);
  }
}

const PRINT = `
const text = (_name, value) => (typeof value === 'bigint' ? String(value) : value);
for (const row of runs) process.stdout.write(JSON.stringify(row, text) + '\\n');`;

async function duckdb(sql: string): Promise<readonly Row[]> {
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    return (await connection.runAndReadAll(sql)).getRowObjectsJson();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

function printed(program: string, args: readonly string[], input: string): Promise<readonly Row[]> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    const out: Buffer[] = [];
    const errors: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
    child.once('error', reject);
    child.once('close', (code) => {
      if (code !== 0)
        reject(new Error(`${program} ended with ${code}\n${Buffer.concat(errors)}`.slice(-4000)));
      else
        resolve(
          Buffer.concat(out)
            .toString()
            .split('\n')
            .filter((line) => line !== '')
            .map((line) => JSON.parse(line) as Row),
        );
    });
    child.stdin.end(input);
  });
}
