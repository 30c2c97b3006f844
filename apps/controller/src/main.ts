import { bundleOf } from '#lib/bundles';

const bundle = bundleOf('controller');
await (bundle === undefined ? import('./program.js') : import(bundle));
