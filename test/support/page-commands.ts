import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { repository } from './platform.js';

const run = promisify(execFile);
/** With its language, so that the end of one block is never read as the beginning of the next. */
const FENCE = /^```(.*?)\n(.*?)^```$/gms;

/** The blocks of commands below a heading of a page of docs/, down to the next heading. */
export function commandsBelow(page: string, heading: string): readonly string[] {
  const text = readFileSync(join(repository, 'docs', page), 'utf8');
  const at = text.indexOf(`\n${heading}\n`);
  if (at < 0) throw new Error(`docs/${page} has no heading ${JSON.stringify(heading)}`);
  const rest = text.slice(at + heading.length + 2);
  const next = /^#+ /m.exec(rest);
  return [...rest.slice(0, next?.index).matchAll(FENCE)].map(([, , block = '']) => block);
}

/** A shell of somebody who follows a page: commands end it when they fail. */
export class PageShell {
  /**
   * @param environment in place of their own
   * @param replaced what the page shows and what stands for it here
   */
  constructor(
    private readonly environment: Readonly<Record<string, string>>,
    private readonly replaced: Readonly<Record<string, string>>,
  ) {}

  /** What commands print; `more` is put behind the last of them. */
  async run(commands: string, more = ''): Promise<string> {
    let text = `${commands.trimEnd()} ${more}`;
    for (const [shown, here] of Object.entries(this.replaced)) text = text.replaceAll(shown, here);
    const options = { cwd: repository, env: this.environment, maxBuffer: 64 << 20, timeout: 600_000 };
    try {
      return (await run('bash', ['--norc', '-euo', 'pipefail', '-c', text], options)).stdout;
    } catch (error) {
      const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
      throw new Error(`${text}\nfailed:\n${stdout}${stderr}`, { cause: error });
    }
  }
}
