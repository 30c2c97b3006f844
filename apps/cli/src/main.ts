import { Command, InvalidArgumentError, Option } from 'commander';
import { EXIT } from '#lib/lifecycle';
import type { runDashboard } from './dashboard-command.js';
import { installedVersion } from './data-folder/data-folder.js';
import { DEFAULT_DATA, DEFAULT_LISTEN, INSTALLATION } from './installation.js';
import type * as keysCommand from './keys/keys-command.js';
import { OUTPUT_FORMATS, type OutputFormat } from './output-format.js';
import { FIRST_WORKSPACE } from './preparation/first-workspace-name.js';
import type { runUp } from './up/up-command.js';

type KeysCommand = typeof keysCommand;

// each command loads what it needs: the supervisor stays for days, and would keep what the others need
const program = new Command('agentplane')
  .description('Open, self-hosted platform for agent servers: deploy them, run them, export what they did.')
  .version(installedVersion(INSTALLATION), '-V, --version')
  .showHelpAfterError('(agentplane --help lists the commands)')
  // before the commands are made: they take it over
  .exitOverride((error) => process.exit(error.exitCode === 0 ? EXIT.ok : EXIT.usage))
  .addHelpText(
    'after',
    '\nExit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.\nThe data folder is ./.agentplane unless --data says otherwise.',
  );

const data = (): Option =>
  new Option('--data <dir>', 'data folder').argParser(nonEmpty).default(DEFAULT_DATA);
const output = (): Option =>
  new Option('-o, --output <format>', 'how to print').choices([...OUTPUT_FORMATS]).default('table');

/** Where the use of a command is told, after it was used wrongly. */
const help = (command: string): string => `("agentplane ${command} --help" tells how it is used)`;

/** A command's promise of an exit code becomes the process's. */
function exitWith(code: Promise<number>): void {
  code.then(
    (value) => process.exit(value),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      process.exit(EXIT.failed);
    },
  );
}

function nonEmpty(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('must not be empty');
  return text;
}

program
  .command('up')
  .showHelpAfterError(help('up'))
  .description('start the platform on this machine and stay until Ctrl-C')
  .addOption(data())
  .addOption(
    new Option('--listen <host:port>', 'address of the REST interface; port 0 picks one, once').default(
      DEFAULT_LISTEN,
    ),
  )
  .addOption(
    new Option(
      '--kubeconfig <file>',
      'use the API server of a cluster of your own; this machine joins it as a node',
    ),
  )
  .action(async (flags: Parameters<typeof runUp>[0]) => (await import('./up/up-command.js')).runUp(flags));

program
  .command('dashboard')
  .showHelpAfterError(help('dashboard'))
  .description('deployments, revisions and exports, live in the terminal')
  .addOption(data())
  .option('--kubeconfig <file>', 'kubeconfig of another cluster')
  .option('-n, --namespace <name>', 'namespace to show')
  .option('-A, --all-namespaces', 'show every namespace')
  .action((flags: Parameters<typeof runDashboard>[0]) =>
    exitWith(import('./dashboard-command.js').then((command) => command.runDashboard(flags))),
  );

program
  .command('status')
  .showHelpAfterError(help('status'))
  .description('what runs, and whether it is well')
  .addOption(data())
  .addOption(output())
  .action((flags: { data: string; output: OutputFormat }) =>
    exitWith(
      import('./status/status-command.js').then((command) => command.printStatus(flags.data, flags.output)),
    ),
  );

const image = program
  .command('image')
  .description('images of agents on this machine')
  .showHelpAfterError(help('image'));
image
  .command('add')
  .showHelpAfterError(help('image add'))
  .description('take an agent’s folder (with a langgraph.json) into the image store')
  .argument('<name>', 'name for imageUri', nonEmpty)
  .argument('<folder>', 'the folder; it is copied')
  .option('--deploy', 'make a new revision of every deployment that names the image')
  .addOption(data())
  .action((name: string, folder: string, flags: { data: string; deploy?: true }) =>
    exitWith(import('./image/image-command.js').then((command) => command.addImage(name, folder, flags))),
  );
image
  .command('list')
  .showHelpAfterError(help('image list'))
  .description('the images and what they are now')
  .addOption(data())
  .addOption(output())
  .action((flags: { data: string; output: OutputFormat }) =>
    exitWith(
      import('./image/image-command.js').then((command) => command.listImages(flags.data, flags.output)),
    ),
  );

const keys = program.command('keys').description('API keys of a workspace').showHelpAfterError(help('keys'));
const workspace = (): Option =>
  new Option('-w, --workspace <name>', 'the workspace').argParser(nonEmpty).default(FIRST_WORKSPACE);
keys
  .command('list')
  .showHelpAfterError(help('keys list'))
  .description('the keys in force; the keys themselves are kept nowhere')
  .option('--all', 'those that were revoked, too')
  .addOption(workspace())
  .addOption(data())
  .addOption(output())
  .action((flags: Parameters<KeysCommand['listKeys']>[0]) =>
    exitWith(import('./keys/keys-command.js').then((command) => command.listKeys(flags))),
  );
keys
  .command('create')
  .showHelpAfterError(help('keys create'))
  .description('make a key and print it, this once')
  .argument('<name>', 'whose or what for', nonEmpty)
  .addOption(workspace())
  .addOption(data())
  .action((name: string, flags: Parameters<KeysCommand['createKey']>[1]) =>
    exitWith(import('./keys/keys-command.js').then((command) => command.createKey(name, flags))),
  );
keys
  .command('revoke')
  .showHelpAfterError(help('keys revoke'))
  .description('end a key')
  .argument('<id>', 'its id, see "keys list"', nonEmpty)
  .addOption(workspace())
  .addOption(data())
  .action((id: string, flags: Parameters<KeysCommand['revokeKey']>[1]) =>
    exitWith(import('./keys/keys-command.js').then((command) => command.revokeKey(id, flags))),
  );

program
  .command('version')
  .description('version of this program and its Node')
  .action(() => {
    process.stdout.write(`agentplane ${installedVersion(INSTALLATION)} (Node ${process.versions.node})\n`);
  });

await program.parseAsync();
