// Runs a script on the pinned Node: node bin/node24.js [node options] script [arguments]
import { spawnSync } from 'node:child_process';
import { delimiter, dirname } from 'node:path';
import { findPinnedNode } from './pinned-node.js';

const node = findPinnedNode();
const child = spawnSync(node, process.argv.slice(2), {
  stdio: 'inherit',
  env: { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}` },
});
if (child.signal) process.kill(process.pid, child.signal);
process.exit(child.status ?? 1);
