import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, waitFor } from '#lib/testing';

/** The program; tests with it are left out where there is none. */
export const VERSITYGW = process.env['AGENTPLANE_TEST_VERSITYGW'];

export interface VersitygwOptions {
  readonly program: string;
  /** For everything that it keeps. */
  readonly folder: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly bucket: string;
  /** What follows the bucket in names of hosts; absent: buckets are in paths. */
  readonly virtualDomain?: string;
}

/** A store that somebody else made: https://github.com/versity/versitygw over a folder. */
export class Versitygw {
  readonly endpoint: string;
  /** With a folder for each bucket. */
  readonly folder: string;
  readonly #process: ChildProcess;

  private constructor(endpoint: string, folder: string, process: ChildProcess) {
    this.endpoint = endpoint;
    this.folder = folder;
    this.#process = process;
  }

  static async start(options: VersitygwOptions): Promise<Versitygw> {
    const { program, folder, bucket, virtualDomain } = options;
    const at = (name: string): string => join(folder, name);
    const data = at('data');
    for (const one of [at('iam'), at('versions'), join(data, bucket)]) mkdirSync(one, { recursive: true });
    const port = await freePort();
    const child = spawn(
      program,
      [
        '--port',
        `127.0.0.1:${port}`,
        '--quiet',
        '--iam-dir',
        at('iam'),
        ...(virtualDomain === undefined ? [] : ['--virtual-domain', virtualDomain]),
        'posix',
        '--versioning-dir',
        at('versions'),
        data,
      ],
      {
        env: {
          ...process.env,
          ROOT_ACCESS_KEY: options.accessKeyId,
          ROOT_SECRET_KEY: options.secretAccessKey,
        },
        stdio: 'ignore',
      },
    );
    const endpoint = `http://127.0.0.1:${port}`;
    const answers = () =>
      fetch(endpoint).then(
        () => true,
        () => false,
      );
    await waitFor(answers, { what: 'versitygw' });
    return new Versitygw(endpoint, data, child);
  }

  stop(): void {
    this.#process.kill('SIGKILL');
  }
}
