import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Passwords of the roles of one cluster, in a file that only its owner reads. Made on first use. */
export class Passwords {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  ensure(role: string): string {
    const known = this.#read();
    const password = known[role] ?? randomBytes(24).toString('base64url');
    if (known[role] === undefined) this.set(role, password);
    return password;
  }

  set(role: string, password: string): void {
    const known = this.#read();
    if (known[role] === password) return;
    mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
    const partial = `${this.#file}.new`;
    // replaces an existing file, which may be a link
    rmSync(partial, { force: true });
    const text = `${JSON.stringify({ ...known, [role]: password }, null, 2)}\n`;
    writeFileSync(partial, text, { mode: 0o600, flag: 'wx' });
    renameSync(partial, this.#file);
  }

  #read(): Readonly<Record<string, string>> {
    let text: string;
    try {
      text = readFileSync(this.#file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
      throw new Error(`cannot read ${this.#file}`, { cause: error });
    }
    try {
      return JSON.parse(text) as Record<string, string>;
    } catch {
      // the parser's message would show a piece of it
      throw new Error(
        `${this.#file} is not JSON; restore the file from a backup, it holds the database passwords`,
      );
    }
  }
}
