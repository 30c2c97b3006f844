import { bundleOf } from '#lib/bundles';

const bundle = bundleOf('platform');
await (bundle === undefined ? import('./program.js') : import(bundle));
