import {
  type Command,
  command,
  DATA_OPTION,
  defaulted,
  optional,
  parsed,
  repeated,
  toggle,
  wholeNumber,
} from '#lib/command-line';
import { DEV_PORT } from '../dev/dev-port.js';
import { OUTPUT } from '../output/output-option.js';
import { oneOf } from '../parse-count.js';
import { timeoutOption } from '../waiting/timeout-option.js';
import { BUILDERS } from '../image/builders.js';

/** `agentplane new`. */
export const NEW_COMMAND: Command = command(
  {
    words: 'new',
    about: 'make a folder with an agent that runs',
    arguments: [{ name: 'name', about: 'new folder; its last part becomes the name of the agent' }],
    options: { python: toggle('--python', 'make an agent in Python (default TypeScript)') },
    examples: ['new my-agent', 'new my-agent --python'],
    needs: 'nothing',
  },
  async ([name = ''], { python = false }) => (await import('../new/new-command.js')).makeAgent(name, python),
);

const AGENT_FOLDER = {
  name: 'folder',
  about: 'folder with langgraph.json (default the current folder)',
  isOptional: true,
  completes: 'folder',
} as const;

/** `agentplane dev`. */
export const DEV_COMMAND: Command = command(
  {
    words: 'dev',
    about: 'run the agent of one folder until Ctrl-C, and reload it on every change',
    arguments: [AGENT_FOLDER],
    options: {
      port: parsed(
        '--port <port>',
        `port to listen on (default ${DEV_PORT}, or the next free one)`,
        wholeNumber(0, 65_535),
      ),
      host: defaulted(
        '--host <address>',
        'address to listen on; on one that others reach, callers need a key',
        '127.0.0.1',
      ),
      reload: toggle('--no-reload', 'load the agent once and ignore changes'),
      envFile: optional(
        '--env-file <file>',
        'file of variables for the agent; the shell overrides it, and it overrides langgraph.json',
        'file',
      ),
    },
    examples: ['dev', 'dev ./my-agent --port 8000', 'dev --env-file .env.local'],
    needs: 'nothing',
  },
  async ([folder = '.'], flags) => (await import('../dev/dev-command.js')).runDev(folder, flags),
);

/** `agentplane check`. */
export const CHECK_COMMAND: Command = command(
  {
    words: 'check',
    about: 'try the agent of a folder: install, load, draw and run each graph once with a made-up model',
    arguments: [AGENT_FOLDER],
    options: {
      buildPackages: toggle(
        '--build-packages',
        'build Python packages that have no wheel; this runs code of their authors as this user',
      ),
      output: OUTPUT,
    },
    examples: ['check', 'check ./my-agent', 'check ./my-agent -o json'],
    exits: ['unreachable'],
    needs: 'nothing',
  },
  async ([folder = '.'], flags) => (await import('../check/check-command.js')).checkFolder(folder, flags),
);

/** Parses a workspace's name by the rule of the CRD. */
function parseWorkspace(text: string): string {
  if (/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(text) && text.length <= 50) return text;
  throw new Error('must be the name of a Workspace: a-z, 0-9 and "-", at most 50');
}

/** `agentplane image …`: the image store of a data folder. */
export const IMAGE_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'image add',
      about: 'copy an agent’s folder (with a langgraph.json) into the image store',
      arguments: [
        { name: 'name', about: 'name for imageUri' },
        { name: 'folder', about: 'folder to copy', completes: 'folder' },
      ],
      options: {
        deploy: toggle(
          '--deploy',
          'make a new revision of every deployment that names the image, and wait until it serves',
        ),
        wait: toggle('--no-wait', 'with --deploy: do not wait until it serves'),
        timeout: timeoutOption('5m'),
        workspace: repeated(
          '-w, --workspace <name>',
          'workspace that may run the image; may be repeated (default the present ones; all for a new image)',
          parseWorkspace,
        ),
        buildPackages: toggle(
          '--build-packages',
          'build Python packages that have no wheel; this runs code of their authors as this user',
        ),
        data: DATA_OPTION,
      },
      examples: [
        'image add my-agent ./agent',
        'image add my-agent ./agent --deploy',
        'image add billing ./agent --workspace team-a --workspace team-b',
      ],
      exits: ['unreachable', 'timedOut'],
      needs: 'data folder',
    },
    async ([name = '', folder = ''], flags) =>
      (await import('../image/image-command.js')).addImage(name, folder, flags),
  ),
  command(
    {
      words: 'image build',
      about: 'build an image of an agent’s folder for a cluster, based on the image of the platform',
      arguments: [
        { name: 'name', about: 'name with registry and tag, for imageUri' },
        {
          name: 'folder',
          about: 'folder of the agent; packages of its lock file are installed',
          completes: 'folder',
        },
      ],
      options: {
        prefix: defaulted(
          '--prefix <text>',
          'registry before the names of the platform’s images, with its slash',
          '',
        ),
        with: parsed(
          '--with <program>',
          `program that builds: ${BUILDERS.join(', ')} (default the first that is installed)`,
          oneOf(BUILDERS),
          BUILDERS,
        ),
        push: toggle('--push', 'push it to its registry'),
      },
      examples: [
        'image build registry.example.com/team/my-agent:1 ./agent --prefix registry.example.com/team/ --push',
      ],
      needs: 'nothing',
    },
    async ([name = '', folder = ''], flags) =>
      (await import('../image/build-image.js')).buildImage(name, folder, flags),
  ),
  command(
    {
      words: 'image list',
      about: 'list images with their digests and workspaces',
      options: { data: DATA_OPTION, output: OUTPUT },
      examples: ['image list'],
      exits: ['unreachable'],
      needs: 'data folder',
    },
    async (_words, flags) => (await import('../image/image-command.js')).listImages(flags.data, flags.output),
  ),
  command(
    {
      words: 'image remove',
      about: 'remove a name from the image store; revisions that run it keep its files',
      arguments: [{ name: 'name', about: 'name as "image list" shows it', completes: 'image' }],
      options: { data: DATA_OPTION },
      examples: ['image remove my-agent'],
      exits: ['unreachable'],
      needs: 'data folder',
    },
    async ([name = ''], flags) => (await import('../image/image-command.js')).removeImage(name, flags.data),
  ),
];
