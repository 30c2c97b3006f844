// Preloaded by `--import`: stacks of the platform's own code name the sources. `--enable-source-maps` keeps the maps of
// all packages as well, with their sources: 15 MB in a program that uses TypeORM.
import { setSourceMapsSupport } from 'node:module';

setSourceMapsSupport(true, { nodeModules: false, generatedCode: false });
