// Compiles apps/ and libs/ into dist/ when a source is newer than the last build: node bin/build.js [--force]
import { ensureBuilt } from './ensure-built.js';

process.exit(ensureBuilt({ force: process.argv.includes('--force') }) ? 0 : 1);
