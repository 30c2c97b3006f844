#!/usr/bin/env node
// Runs a script on the pinned Node: node bin/node24.js [node options] script [arguments]
import { spawn } from 'node:child_process';
import { delimiter, dirname } from 'node:path';
import { findPinnedNode } from './pinned-node.js';

const node = findPinnedNode();
const words = process.argv.slice(2);
const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}` };
if (process.execve && !process.channel) {
  // this process becomes the script: signals reach it, and nothing waits beside it
  process.execve(node, [node, ...words], env);
} else {
  const child = spawn(node, words, { stdio: 'inherit', env });
  // an interrupt typed at the terminal reaches the child by itself; one sent to this pid alone does not
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => {
    if (!signal) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
