import { bundleOf } from '#lib/bundles';

const bundle = bundleOf('api');
await (bundle === undefined ? import('./program.js') : import(bundle));
