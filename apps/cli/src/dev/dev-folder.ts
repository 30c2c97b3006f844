import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_DATA, type Lock, readJson, takeLock, writeJson } from '#lib/data-folder';
import { CommandError } from '../command-error.js';

interface Address {
  readonly url: string;
}

/** An agent's folder, and what is kept in it for `agentplane dev`; owned by this process. */
export class DevFolder {
  private constructor(
    /** Real path of the agent's folder. */
    readonly agent: string,
    /** Holds the database. */
    readonly data: string,
    private readonly lock: Lock,
  ) {}

  /** @throws CommandError when the folder is no agent's, or another process serves it */
  static open(folder: string): DevFolder {
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
      throw new CommandError('failed', `${folder} is not a folder`);
    const agent = realpathSync(folder);
    if (!existsSync(join(agent, 'langgraph.json')))
      throw new CommandError(
        'failed',
        `${agent} has no langgraph.json; name an agent's folder, or make one with "agentplane new NAME"`,
      );
    const above = join(agent, DEFAULT_DATA);
    const data = join(above, 'dev');
    // where root runs this, Postgres is another user, who passes through
    mkdirSync(above, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
    mkdirSync(data, { recursive: true, mode: 0o700 });
    if (!existsSync(join(above, '.gitignore'))) writeFileSync(join(above, '.gitignore'), '*\n');
    const lock = takeLock(join(data, 'lock'), ({ pid }) => {
      const url =
        readJson<Address>(join(data, 'address.json'))?.url ?? 'an address that it has not chosen yet';
      return `${agent} is served by process ${pid} at ${url}; use that, or stop it first`;
    });
    return new DevFolder(agent, data, lock);
  }

  /** Stores the address for a second session. */
  serves(url: string): void {
    writeJson(join(this.data, 'address.json'), { url });
  }

  /** The key of callers from elsewhere, made once. */
  key(): string {
    const path = join(this.data, 'key.json');
    const known = readJson<{ readonly key: string }>(path);
    if (known) return known.key;
    const key = `dev_${randomBytes(24).toString('base64url')}`;
    writeJson(path, { key });
    return key;
  }

  release(): void {
    rmSync(join(this.data, 'address.json'), { force: true });
    this.lock.release();
  }
}
