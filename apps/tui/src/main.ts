import { bundleOf } from '#lib/bundles';
import { dropInput, OPENING } from './opening.js';

if (process.stdout.isTTY) {
  // first, as the terminal would echo what is typed between the two
  dropInput(process.stdin);
  process.stdout.write(OPENING);
}
const bundle = bundleOf('tui');
await (bundle === undefined ? import('./program.js') : import(bundle));
