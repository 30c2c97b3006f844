import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { readJson, writeWhole } from '../pod-files/pod-files.js';

/** Identity of the node, for as long as its data folder exists. */
export interface NodeIdentity {
  /** Name of the Node object: `agentplane-HOST-SHORTID`. */
  readonly name: string;
  /** Holder of its Lease: the same after a restart, so that it is taken over at once. */
  readonly leaseHolder: string;
}

/** The identity kept in `node.json` of the node's folder; made on the first call. */
export function ensureNodeIdentity(folder: string, host = hostname()): NodeIdentity {
  const file = join(folder, 'node.json');
  const known = readJson<NodeIdentity>(file);
  if (known) return known;
  const word = host
    .toLowerCase()
    .split('.')[0]
    ?.replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 30);
  const name = `agentplane-${word || 'node'}-${randomBytes(3).toString('hex')}`;
  const identity = { name, leaseHolder: name };
  mkdirSync(folder, { recursive: true });
  writeWhole(file, `${JSON.stringify(identity, null, 2)}\n`);
  return identity;
}
