import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorText } from '#lib/errors';
import type { KubeClient, Untyped } from '#lib/kube';
import { keyOf, type ObjectKey, type ResourceRef } from '#lib/resources';
import { parse, stringify } from 'yaml';

type Fields = Readonly<Record<string, unknown>>;

export interface EditOptions {
  readonly client: KubeClient;
  readonly ref: ResourceRef;
  readonly key: ObjectKey;
  /** A command line, such as `code --wait`. */
  readonly editor: string;
}

const INTRODUCTION =
  '# Edit and save to apply; leave it as it is, or empty, to change nothing. Lines that begin with # are dropped.\n';

/**
 * Opens an object in an editor and applies the saved text, server-side. A refused text returns to the editor
 * with the reason above it, until it is accepted or left unchanged.
 * @returns report of the result
 */
export async function editObject({ client, ref, key, editor }: EditOptions): Promise<string> {
  const untyped = ref as ResourceRef<Untyped>;
  const before = await editable(client, untyped, key);
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-edit-'));
  const path = join(folder, `${ref.kind.toLowerCase()}-${key.name}.yaml`);
  let text = stringify(before);
  let problem = '';
  let isKept = false;
  try {
    for (;;) {
      const shown = `${INTRODUCTION}${commented(problem)}${text}`;
      writeFileSync(path, shown, { mode: 0o600 });
      const code = await runEditor(editor, path);
      const saved = readFileSync(path, 'utf8');
      if (code !== 0) {
        isKept = saved !== shown || text !== stringify(before);
        const kept = isKept ? `; what was typed is kept in ${path}` : '';
        throw new Error(`the editor ${editor} ended with exit code ${code ?? 'none'}${kept}`);
      }
      const edited = saved.replaceAll(/^#.*\n?/gm, '');
      if (edited.trim() === '' || edited === text) return `${key.name} was not changed`;
      text = edited;
      try {
        await applyEdited(client, untyped, before, parse(edited) as Untyped);
        return `${key.name} changed`;
      } catch (error) {
        problem = errorText(error);
      }
    }
  } finally {
    if (!isKept) rmSync(folder, { recursive: true, force: true });
  }
}

/** Object without the fields that the API server writes, and refuses or ignores in an apply. */
async function editable(client: KubeClient, ref: ResourceRef<Untyped>, key: ObjectKey): Promise<Untyped> {
  const { status: _status, metadata, ...rest } = await client.get(ref, key);
  const {
    managedFields: _managed,
    creationTimestamp: _created,
    generation: _generation,
    uid: _uid,
    ...kept
  } = metadata as Untyped['metadata'] & { readonly managedFields?: unknown };
  return { ...rest, metadata: kept };
}

function commented(problem: string): string {
  return problem === '' ? '' : `#\n${problem.replaceAll(/^/gm, '# ')}\n#\n`;
}

/**
 * Applies all fields under the dashboard's name; those that were taken out are removed by a merge, since other managers
 * own them, too.
 */
async function applyEdited(
  client: KubeClient,
  ref: ResourceRef<Untyped>,
  before: Untyped,
  object: Untyped,
): Promise<void> {
  if (!isFields(object) || !isFields(object.metadata))
    throw new Error('this is no object: metadata is missing');
  const [was, is] = [keyOf(before), keyOf(object)];
  if (was.name !== is.name || was.namespace !== is.namespace || object.kind !== before.kind)
    throw new Error('kind, name and namespace cannot be edited');
  const applied = await client.apply(ref, object);
  // without it an object is applied to whichever version there is
  const { resourceVersion: _shown, ...metadata } = before.metadata;
  const removed = removals({ ...before, metadata }, object);
  if (removed === undefined) return;
  const { resourceVersion } = applied.metadata;
  const removedThere = isFields(removed['metadata']) ? removed['metadata'] : {};
  await client.merge(ref, is, { ...removed, metadata: { ...removedThere, resourceVersion } });
}

/** A merge patch that removes the fields of maps that are no longer there; undefined for none. */
function removals(before: Fields, after: Fields): Fields | undefined {
  const found: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(before)) {
    const now = after[name];
    if (now === undefined) found[name] = null;
    else if (isFields(value) && isFields(now)) {
      const inner = removals(value, now);
      if (inner) found[name] = inner;
    }
  }
  return Object.keys(found).length === 0 ? undefined : found;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Runs the editor in a shell, since the variable holds a command line. @returns its exit code; null when a
 * signal ended it
 */
function runEditor(editor: string, path: string): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'sh', path], { stdio: 'inherit' });
    child.once('error', reject);
    child.once('exit', resolve);
  });
}
