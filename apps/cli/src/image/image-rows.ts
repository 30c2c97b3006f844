import { type Command, command, DATA_OPTION, defaulted, parsed, repeated, toggle } from '#lib/command-line';
import { oneOf } from '../parse-count.js';
import { timeoutOption } from '../waiting/timeout-option.js';
import { OUTPUT } from '../output/output-option.js';
import { BUILDERS } from './builders.js';

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
      about: 'take an agent’s folder (with a langgraph.json) into the image store',
      arguments: [
        { name: 'name', about: 'name for imageUri' },
        { name: 'folder', about: 'the folder; it is copied', completes: 'folder' },
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
          'the workspace that has it, and no other; may be given again. By default those that it has, and all for a new one',
          parseWorkspace,
        ),
        buildPackages: toggle(
          '--build-packages',
          'build Python packages that have no wheel, which runs code of their authors as this user',
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
      (await import('./image-command.js')).addImage(name, folder, flags),
  ),
  command(
    {
      words: 'image build',
      about: 'build an image of an agent’s folder for a cluster, on that of the platform',
      arguments: [
        { name: 'name', about: 'name with registry and tag, for imageUri' },
        { name: 'folder', about: 'the folder; packages of its lock file are installed', completes: 'folder' },
      ],
      options: {
        prefix: defaulted('--prefix <text>', 'before the names of the platform’s images, with its slash', ''),
        with: parsed(
          '--with <program>',
          `${BUILDERS.join(', ')}; the first that is installed`,
          oneOf(BUILDERS),
          BUILDERS,
        ),
        push: toggle('--push', 'push it to its registry'),
      },
      examples: [
        'image build registry.example.com/team/my-agent:1 ./agent --prefix registry.example.com/team/ --push',
      ],
      exits: [],
      needs: 'nothing',
    },
    async ([name = '', folder = ''], flags) =>
      (await import('./build-image.js')).buildImage(name, folder, flags),
  ),
  command(
    {
      words: 'image list',
      about: 'list the images, their present digests and whose they are',
      options: { data: DATA_OPTION, output: OUTPUT },
      examples: ['image list'],
      exits: ['unreachable'],
      needs: 'data folder',
    },
    async (_words, flags) => (await import('./image-command.js')).listImages(flags.data, flags.output),
  ),
  command(
    {
      words: 'image remove',
      about: 'take a name out of the image store; revisions that run it keep its files',
      arguments: [{ name: 'name', about: 'name as "image list" shows it', completes: 'image' }],
      options: { data: DATA_OPTION },
      examples: ['image remove my-agent'],
      exits: ['unreachable'],
      needs: 'data folder',
    },
    async ([name = ''], flags) => (await import('./remove-image.js')).removeImage(name, flags.data),
  ),
];
