import { bundleOf } from '#lib/bundles';

const bundle = bundleOf('builder');
await (bundle === undefined ? import('./program.js') : import(bundle));
