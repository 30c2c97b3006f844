import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { EXIT } from '#lib/lifecycle';
import { CommandError } from '../command-error.js';
import { agentContainerfile } from './agent-containerfile.js';
import { type Builder, BUILDERS } from './builders.js';
import { checkGraphs } from './check-graphs.js';
import { secretNames } from './secret-names.js';

/** A daemon that runs answers within a second or two. */
const INFO_MS = 10_000;

interface BuildFlags {
  /** Put before the names of the platform's images. */
  readonly prefix: string;
  readonly with?: Builder;
  readonly push?: boolean;
}

/** `agentplane image build NAME FOLDER`: an image of an agent for a cluster; the exit code. */
export async function buildImage(name: string, given: string, flags: BuildFlags): Promise<number> {
  const folder = resolve(given);
  await checkGraphs(folder);
  const { containerfile, ignored, secrets } = agentContainerfile(folder, flags.prefix);
  reportLeftOut(folder);
  const builder = flags.with ?? findBuilder();
  const work = mkdtempSync(join(tmpdir(), 'agentplane-image-'));
  try {
    const file = join(work, 'Containerfile');
    // Docker finds the second by its name
    const ignoreFile = `${file}.dockerignore`;
    writeFileSync(file, containerfile);
    writeFileSync(ignoreFile, ignored);
    const ignoring = builder === 'docker' ? [] : ['--ignorefile', ignoreFile];
    const build = builder === 'buildah' ? 'bud' : 'build';
    const mounted = secrets.flatMap(({ id, path }) => ['--secret', `id=${id},src=${path}`]);
    run(builder, [build, '--tag', name, '--file', file, ...ignoring, ...mounted, folder]);
    if (flags.push) run(builder, ['push', name]);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  const next = flags.push ? '' : `${builder} push ${name}, then `;
  process.stdout.write(
    `${name}\n${next}name it in a deployment: source: external_image, imageUri: ${name}\n`,
  );
  return EXIT.ok;
}

function reportLeftOut(folder: string): void {
  const names = secretNames(folder);
  if (names === undefined) return;
  process.stderr.write(
    `left out unless a line "!NAME" of .dockerignore names it, since they tend to hold secrets: ${names}. Give an agent its keys with "agentplane secrets set"\n`,
  );
}

/** `info` fails where a client has no daemon, and waits where that hangs. */
function findBuilder(): Builder {
  const found = BUILDERS.find(
    (builder) => spawnSync(builder, ['info'], { stdio: 'ignore', timeout: INFO_MS }).status === 0,
  );
  if (found) return found;
  throw new CommandError(
    'failed',
    `none of ${BUILDERS.join(', ')} is installed and answers "info" within ${INFO_MS / 1000} s; install one, or start its daemon`,
  );
}

function run(builder: Builder, words: readonly string[]): void {
  // Docker's former builder does not read the file of what is left out, and would take secrets into the image
  const command = builder === 'docker' ? ['env', 'DOCKER_BUILDKIT=1', 'docker'] : [builder];
  const [program = '', ...first] = command;
  const { status, error } = spawnSync(program, [...first, ...words], { stdio: ['ignore', 2, 2] });
  if (status === 0) return;
  const why = error ? error.message : `it ended with ${status}; its output is above`;
  throw new CommandError('failed', `${builder} ${words[0]} failed: ${why}`);
}
