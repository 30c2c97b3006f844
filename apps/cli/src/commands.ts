import { PLATFORM_VERSION } from '#lib/config';
import { type Command, command, DATA_OPTION, defaulted, optional, toggle, UP } from '#lib/command-line';
import { FIRST_WORKSPACE } from '#lib/data-folder';
import { EXIT } from '#lib/lifecycle';
import { OUTPUT } from './output-option.js';

const WORKSPACE = defaulted('-w, --workspace <name>', 'the workspace', FIRST_WORKSPACE);

/** What each noun with verbs is about. */
export const GROUPS: Readonly<Record<string, string>> = {
  image: 'images of agents on this machine',
  keys: 'API keys of a workspace',
};

/** Every command. Each loads what it needs when it runs, so the help loads none of it. */
export const COMMANDS: readonly Command[] = [
  command(UP, async () => {
    process.stderr.write('up belongs to the platform: start it with "npm start" or bin/agentplane.js\n');
    return EXIT.usage;
  }),
  command(
    {
      words: 'dashboard',
      about: 'show deployments, revisions and exports, live in the terminal',
      options: {
        data: DATA_OPTION,
        kubeconfig: optional('--kubeconfig <file>', 'kubeconfig of another cluster', 'file'),
        namespace: optional('-n, --namespace <name>', 'namespace to show'),
        allNamespaces: toggle('-A, --all-namespaces', 'show every namespace'),
      },
      examples: ['dashboard', 'dashboard --all-namespaces'],
      exits: ['unreachable'],
      needs: 'kubernetes',
    },
    async (_words, flags) => (await import('./dashboard-command.js')).runDashboard(flags),
  ),
  command(
    {
      words: 'status',
      about: 'show what runs, and whether it is healthy',
      options: { data: DATA_OPTION, output: OUTPUT },
      examples: ['status', 'status -o json'],
      exits: ['unreachable'],
      needs: 'kubernetes',
    },
    async (_words, flags) =>
      (await import('./status/status-command.js')).printStatus(flags.data, flags.output),
  ),
  command(
    {
      words: 'image add',
      about: 'take an agent’s folder (with a langgraph.json) into the image store',
      arguments: [
        { name: 'name', about: 'name for imageUri' },
        { name: 'folder', about: 'the folder; it is copied', completes: 'folder' },
      ],
      options: {
        deploy: toggle('--deploy', 'make a new revision of every deployment that names the image'),
        data: DATA_OPTION,
      },
      examples: ['image add my-agent ./agent', 'image add my-agent ./agent --deploy'],
      exits: ['unreachable'],
      needs: 'data folder',
    },
    async ([name = '', folder = ''], flags) =>
      (await import('./image/image-command.js')).addImage(name, folder, flags),
  ),
  command(
    {
      words: 'image list',
      about: 'list the images and their present digests',
      options: { data: DATA_OPTION, output: OUTPUT },
      examples: ['image list'],
      exits: ['unreachable'],
      needs: 'data folder',
    },
    async (_words, flags) => (await import('./image/image-command.js')).listImages(flags.data, flags.output),
  ),
  command(
    {
      words: 'keys list',
      about: 'list the keys in force; the keys themselves are stored nowhere',
      options: {
        all: toggle('--all', 'revoked keys, too'),
        workspace: WORKSPACE,
        data: DATA_OPTION,
        output: OUTPUT,
      },
      examples: ['keys list', 'keys list --all -o yaml'],
      exits: ['unreachable'],
      needs: 'rest',
    },
    async (_words, flags) => (await import('./keys/keys-command.js')).listKeys(flags),
  ),
  command(
    {
      words: 'keys create',
      about: 'make a key and print it, this once',
      arguments: [{ name: 'name', about: 'owner or purpose of the key' }],
      options: { workspace: WORKSPACE, data: DATA_OPTION },
      examples: ['keys create laptop', 'KEY=$(agentplane keys create ci)'],
      exits: ['unreachable'],
      needs: 'rest',
    },
    async ([name = ''], flags) => (await import('./keys/keys-command.js')).createKey(name, flags),
  ),
  command(
    {
      words: 'keys revoke',
      about: 'revoke a key',
      arguments: [{ name: 'id', about: 'id of the key, see "keys list"' }],
      options: { workspace: WORKSPACE, data: DATA_OPTION },
      examples: ['keys revoke 3f6c2a7e'],
      exits: ['notFound', 'unreachable'],
      needs: 'rest',
    },
    async ([id = ''], flags) => (await import('./keys/keys-command.js')).revokeKey(id, flags),
  ),
  command(
    {
      words: 'version',
      about: 'print the version of this program and its Node',
      options: {},
      examples: ['version'],
      exits: [],
      needs: 'nothing',
    },
    async () => {
      process.stdout.write(`agentplane ${PLATFORM_VERSION} (Node ${process.versions.node})\n`);
      return EXIT.ok;
    },
  ),
];
