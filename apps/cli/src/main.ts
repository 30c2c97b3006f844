import { bundleOf } from '#lib/bundles';

const bundle = bundleOf('cli');
await (bundle === undefined ? import('./program.js') : import(bundle));
