import { bundleOf } from '#lib/bundles';

const bundle = bundleOf('tui');
await (bundle === undefined ? import('./program.js') : import(bundle));
