import { bundleOf } from '#lib/bundles';

const bundle = bundleOf('listener');
await (bundle === undefined ? import('./program.js') : import(bundle));
