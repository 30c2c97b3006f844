import { DEFAULT_DATA, DEFAULT_LISTEN } from '#lib/data-folder';
import type { CommandSpec } from './command.js';
import { defaulted, optional, toggle } from './option.js';

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
      'address of the REST interface; port 0 picks one, once; beyond this machine with a certificate alone',
      DEFAULT_LISTEN,
    ),
    tlsCertificate: optional(
      '--tls-certificate <file>',
      'serve --listen with TLS: PEM file of the certificate, followed when it is renewed',
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
