import { bundleOf } from '#lib/bundles';
import { OPENING } from './opening.js';

if (process.stdout.isTTY) process.stdout.write(OPENING);
const bundle = bundleOf('tui');
await (bundle === undefined ? import('./program.js') : import(bundle));
