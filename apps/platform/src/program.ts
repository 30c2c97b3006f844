import { PLATFORM_VERSION } from '#lib/config';
import {
  BACKUP,
  BACKUP_VERIFY,
  command,
  MIGRATE_DATABASE,
  MIGRATE_OBJECTS,
  MIGRATE_RESOURCES,
  MIGRATE_TRACES,
  RESTORE,
  runCommandLine,
  STAYS,
  UP,
  visibleText,
} from '#lib/command-line';
import { errorText } from '#lib/errors';
import { EXIT } from '#lib/lifecycle';

// modules that only a start needs are loaded after its options have been validated
await runCommandLine(
  {
    about: 'Open, self-hosted platform for agent servers: deploy them, run them, export what they did.',
    version: PLATFORM_VERSION,
    groups: { backup: 'copies of the whole platform', migrate: 'data that moves to another installation' },
    commands: [
      command(UP, async (_words, flags) => {
        const { runUp } = await import('./up/up-command.js');
        runUp(flags);
        return STAYS;
      }),
      command(BACKUP, async (_words, flags) =>
        (await import('./backup/backup-commands.js')).runBackup(flags),
      ),
      command(BACKUP_VERIFY, async ([folder = ''], flags) =>
        (await import('./backup/backup-commands.js')).runVerify(folder, flags),
      ),
      command(RESTORE, async ([folder = ''], flags) =>
        (await import('./backup/backup-commands.js')).runRestore(folder, flags),
      ),
      command(MIGRATE_DATABASE, async ([deployment = ''], flags) =>
        (await import('./migrate/migrate-commands.js')).runMigrateDatabase(deployment, flags),
      ),
      command(MIGRATE_OBJECTS, async (_words, flags) =>
        (await import('./migrate/migrate-commands.js')).runMigrateObjects(flags),
      ),
      command(MIGRATE_RESOURCES, async (_words, flags) =>
        (await import('./migrate/migrate-commands.js')).runMigrateResources(flags),
      ),
      command(MIGRATE_TRACES, async (_words, flags) =>
        (await import('./migrate/migrate-commands.js')).runMigrateTraces(flags),
      ),
    ],
    report: (error) => {
      process.stderr.write(`${visibleText(errorText(error))}\n`);
      return EXIT.failed;
    },
  },
  process.argv.slice(2),
);
