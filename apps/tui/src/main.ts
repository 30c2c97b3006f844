import { bundleOf } from '#lib/bundles';
import { dropInput, OPENING } from './opening.js';

if (process.stdout.isTTY) {
  process.stdout.write(OPENING);
  dropInput(process.stdin);
}
const bundle = bundleOf('tui');
await (bundle === undefined ? import('./program.js') : import(bundle));
