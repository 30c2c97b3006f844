import { DEFAULT_DATA, DEFAULT_LISTEN } from '#lib/data-folder';
import type { CommandSpec } from './command.js';
import { defaulted, optional, toggle } from './option.js';

/** `--data`, the same for every command that has it. */
export const DATA_OPTION = defaulted('--data <dir>', 'data folder of the platform', DEFAULT_DATA, 'folder');

/** `agentplane up`: the platform parses it, the client lists it. */
export const UP = {
  words: 'up',
  about: 'start the platform on this machine, until Ctrl-C',
  options: {
    data: DATA_OPTION,
    listen: defaulted(
      '--listen <host:port>',
      'address of the REST interface; port 0 picks a free port and keeps it; other machines are served with TLS only',
      DEFAULT_LISTEN,
    ),
    tlsCertificate: optional(
      '--tls-certificate <file>',
      'serve --listen with TLS: PEM file of the certificate, read again when it is renewed',
      'file',
    ),
    tlsKey: optional('--tls-key <file>', 'PEM file of the private key of --tls-certificate', 'file'),
    tlsSelfSigned: toggle(
      '--tls-self-signed',
      'serve --listen with TLS and a certificate of its own, kept in the data folder',
    ),
    kubeconfig: optional(
      '--kubeconfig <file>',
      'use the API server of a cluster of your own; this machine joins it as a node',
      'file',
    ),
  },
  examples: [
    'up',
    'up --data /srv/agentplane --listen 127.0.0.1:9000',
    'up --listen 0.0.0.0:8470 --tls-self-signed',
  ],
  exits: ['interrupted'],
  needs: 'nothing',
} as const satisfies CommandSpec;

const PASSPHRASE = optional(
  '--passphrase-file <file>',
  'file whose first line is the passphrase of the backup',
  'file',
);

const BACKUP_ARGUMENT = { name: 'backup', about: 'folder of the backup', completes: 'folder' } as const;

/** `agentplane backup`: the platform parses it, the client lists it; so with those that follow. */
export const BACKUP = {
  words: 'backup',
  about: 'copy the whole platform of this machine into a folder, running or stopped',
  options: {
    data: DATA_OPTION,
    to: optional(
      '--to <folder>',
      'new folder for the backup; it will hold every secret of the platform',
      'folder',
    ),
    resume: toggle('--resume', 'continue an interrupted backup in that folder'),
    auditLog: toggle('--audit-log', 'include the audit log'),
    passphraseFile: optional(
      PASSPHRASE.flags,
      'encrypt with the passphrase in the first line of this file',
      'file',
    ),
  },
  examples: [
    'backup --to /backup/agentplane-1',
    'backup --to /backup/agentplane-1 --resume',
    'backup --to /backup/agentplane-2 --passphrase-file ~/.agentplane-passphrase',
  ],
  exits: ['interrupted'],
  needs: 'data folder',
} as const satisfies CommandSpec;

export const BACKUP_VERIFY = {
  words: 'backup verify',
  about: 'read a backup to its end, against its checksums and counts',
  arguments: [BACKUP_ARGUMENT],
  options: { passphraseFile: PASSPHRASE },
  examples: ['backup verify /backup/agentplane-1'],
  exits: ['interrupted'],
  needs: 'nothing',
} as const satisfies CommandSpec;

export const RESTORE = {
  words: 'restore',
  about: 'make a data folder from a backup, for "agentplane up"',
  arguments: [BACKUP_ARGUMENT],
  options: {
    data: DATA_OPTION,
    force: toggle('--force', 'first move the contents of the data folder to a folder beside it'),
    passphraseFile: PASSPHRASE,
  },
  examples: ['restore /backup/agentplane-1 --data /srv/agentplane'],
  exits: ['interrupted'],
  needs: 'nothing',
} as const satisfies CommandSpec;

/** `agentplane migrate traces`: the platform parses it, as a data folder is its. */
export const MIGRATE_TRACES = {
  words: 'migrate traces',
  about:
    'copy traces, projects, API keys and datasets of this machine into the database of another installation, or back, while its api is scaled to 0',
  options: {
    data: DATA_OPTION,
    databaseUriFile: optional(
      '--database-uri-file <file>',
      'file whose first line is the URI of the other trace store',
      'file',
    ),
    back: toggle('--back', 'from the other trace store into this machine'),
  },
  examples: [
    'migrate traces --database-uri-file ~/cluster-database',
    'migrate traces --database-uri-file ~/cluster-database --back --data /srv/agentplane',
  ],
  exits: ['interrupted'],
  needs: 'data folder',
} as const satisfies CommandSpec;

/** `agentplane migrate database`: the platform parses it, as a data folder is its. */
export const MIGRATE_DATABASE = {
  words: 'migrate database',
  about:
    'copy the database of a deployment of this machine (threads, runs, checkpoints, items, assistants, crons) into the empty one of a deployment elsewhere, or back, while neither runs',
  arguments: [{ name: 'deployment', about: 'name of the deployment on this machine' }],
  options: {
    data: DATA_OPTION,
    databaseUriFile: optional(
      '--database-uri-file <file>',
      'file whose first line is the URI of the other database, as POSTGRES_URI of the Secret DEPLOYMENT-database has it',
      'file',
    ),
    workspace: optional(
      '--workspace <name>',
      'workspace of the deployment, where several have one of that name',
    ),
    back: toggle('--back', 'from the other database into that of this machine'),
  },
  examples: [
    'migrate database my-agent --database-uri-file ~/agent-database',
    'migrate database my-agent --database-uri-file ~/agent-database --back --workspace research --data /srv/agentplane',
  ],
  exits: ['interrupted'],
  needs: 'data folder',
} as const satisfies CommandSpec;

/** `agentplane migrate resources`: the platform parses it, as a data folder is its. */
export const MIGRATE_RESOURCES = {
  words: 'migrate resources',
  about:
    'copy workspaces of this machine into a cluster, or back: deployments and schedules, which are suspended there, destinations, listeners and Secrets',
  options: {
    data: DATA_OPTION,
    kubeconfig: optional('--kubeconfig <file>', 'kubeconfig of the other installation', 'file'),
    workspace: optional('--workspace <name>', 'workspace to copy (default all)'),
    as: optional('--as <name>', 'name of the copy of that workspace'),
    imagePrefix: optional(
      '--image-prefix <prefix>',
      'registry with its slash, put before the names of images that only this machine has',
    ),
    back: toggle('--back', 'from the other installation into this machine'),
  },
  examples: [
    'migrate resources --kubeconfig ~/cluster --image-prefix registry.example.com/team/',
    'migrate resources --kubeconfig ~/cluster --workspace default --as research',
    'migrate resources --kubeconfig ~/cluster --back --workspace research --data /srv/agentplane',
  ],
  exits: ['interrupted'],
  needs: 'data folder',
} as const satisfies CommandSpec;

/** `agentplane migrate objects`: the platform parses it, as a data folder is its. */
export const MIGRATE_OBJECTS = {
  words: 'migrate objects',
  about:
    'copy what the object store of this machine has into buckets of the same names elsewhere; a repeated command continues where the last one ended',
  options: {
    data: DATA_OPTION,
    storeFile: optional(
      '--store-file <file>',
      'JSON with endpoint_url, region, access_key_id and secret_access_key of the other store',
      'file',
    ),
    bucket: optional('--bucket <name>', 'bucket to copy (default all)'),
    as: optional('--as <name>', 'name of that bucket in the other store'),
  },
  examples: [
    'migrate objects --store-file ~/store.json',
    'migrate objects --store-file ~/store.json --bucket attachments --as team-attachments',
  ],
  exits: ['interrupted'],
  needs: 'data folder',
} as const satisfies CommandSpec;
