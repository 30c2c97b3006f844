import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The OpenAPI document of the api, from the decorators of the compiled program; no server and no database. */
export async function openapiDocument(root) {
  const compiled = (path) => import(pathToFileURL(join(root, 'dist/apps/api/src', path)).href);
  await import('reflect-metadata');
  const [{ ApiModule }, { OpenApi }] = await Promise.all([
    compiled('api-module.js'),
    compiled('wire/openapi.js'),
  ]);
  return await new OpenApi(ApiModule.routes()).document();
}
