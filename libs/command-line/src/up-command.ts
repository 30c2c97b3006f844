import { DEFAULT_DATA, DEFAULT_LISTEN } from '#lib/data-folder';
import type { CommandSpec } from './command.js';
import { defaulted, optional } from './option.js';

/** `--data`, the same for every command that has it. */
export const DATA_OPTION = defaulted('--data <dir>', 'data folder of the platform', DEFAULT_DATA, 'folder');

/** `agentplane up`: the platform parses it, the client lists it. */
export const UP = {
  words: 'up',
  about: 'start the platform on this machine and stay until Ctrl-C',
  options: {
    data: DATA_OPTION,
    listen: defaulted(
      '--listen <host:port>',
      'address of the REST interface; port 0 picks one, once',
      DEFAULT_LISTEN,
    ),
    kubeconfig: optional(
      '--kubeconfig <file>',
      'use the API server of a cluster of your own; this machine joins it as a node',
      'file',
    ),
  },
  examples: ['up', 'up --data /srv/agentplane --listen 127.0.0.1:9000'],
  exits: ['interrupted'],
  needs: 'nothing',
} as const satisfies CommandSpec;
