#!/usr/bin/env node
// The command: finds the pinned Node, builds when sources changed, and hands over: what owns
// a data folder to apps/platform, all else to apps/cli.
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureBuilt } from './ensure-built.js';
import { closeInherited } from './inherited-descriptors.js';
import { findPinnedNode } from './pinned-node.js';

closeInherited();
if (!ensureBuilt()) process.exit(1);
const app = ['up', 'backup', 'restore', 'migrate'].includes(process.argv[2]) ? 'platform' : 'cli';
const main = join(dirname(fileURLToPath(import.meta.url)), '..', 'dist', 'apps', app, 'src', 'main.js');
// It mostly waits, so it should cost little: a small nursery.
const words = ['--max-semi-space-size=1', main, ...process.argv.slice(2)];
const node = findPinnedNode();
if (process.execve && !process.channel) {
  // Node 22.15 and newer: this process becomes the program, with its pid, its terminal and its parent
  process.execve(node, [node, ...words], process.env);
} else {
  // The channel closes when this process dies, however it dies: it then stops in order.
  const child = spawn(node, words, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  // An interrupt typed at the terminal reaches the child by itself (same process group); one sent to this pid alone does not.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)));
}
