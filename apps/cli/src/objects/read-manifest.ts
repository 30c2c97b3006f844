import { readFileSync } from 'node:fs';
import { errorText } from '#lib/errors';
import { parseAllDocuments } from 'yaml';
import { CommandError } from '../command-error.js';

/** An object of a manifest file, as far as it must be known to apply it. */
export interface ManifestObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [field: string]: unknown;
}

/**
 * The objects of a YAML or JSON file; `-` is standard input.
 * @throws CommandError that names the file and the document
 */
export function readManifest(file: string): readonly ManifestObject[] {
  const objects = parseAllDocuments(readText(file)).flatMap((document, at) => {
    const where = `${file}, document ${at + 1}`;
    const problem = document.errors[0];
    if (problem) throw new CommandError('usage', `${where} is not YAML: ${problem.message}`);
    const value: unknown = document.toJS();
    if (value === null || value === undefined) return [];
    if (!isManifestObject(value))
      throw new CommandError(
        'usage',
        `${where} is no object of Kubernetes: apiVersion, kind and metadata.name are needed`,
      );
    return [value];
  });
  if (objects.length > 0) return objects;
  throw new CommandError('usage', `${file} holds no object of Kubernetes`);
}

function readText(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new CommandError('failed', `reading ${file} failed: ${errorText(error)}`, { cause: error });
  }
}

function isManifestObject(value: unknown): value is ManifestObject {
  if (typeof value !== 'object' || value === null || !('metadata' in value)) return false;
  const { metadata } = value;
  return (
    'apiVersion' in value &&
    typeof value.apiVersion === 'string' &&
    'kind' in value &&
    typeof value.kind === 'string' &&
    typeof metadata === 'object' &&
    metadata !== null &&
    'name' in metadata &&
    typeof metadata.name === 'string'
  );
}
