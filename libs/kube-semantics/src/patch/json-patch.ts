import { isJsonObject, jsonEquals, type JsonObject, type MutableJsonObject } from '#lib/json';
import { PatchError } from './merge-patch.js';

/** The steps of a JSON pointer (RFC 6901); undefined when it is malformed. */
function pointerSteps(pointer: string): readonly string[] | undefined {
  if (pointer === '') return [];
  if (!pointer.startsWith('/')) return undefined;
  return pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

const MAX_OPERATIONS = 10_000;
/**
 * Limit for all `copy` of one patch together: a few dozen that copy a thing into itself would fill the
 * memory.
 */
const MAX_COPIED_BYTES = 3 * 1024 * 1024;
/**
 * Limit for items of all lists of one patch that are moved to open or close a gap; more would block the
 * server for seconds.
 */
const MAX_MOVED_ITEMS = 100_000_000;

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
  readonly hasValue: boolean;
}

type Container = MutableJsonObject | unknown[];

/**
 * Applies RFC 6902 operations; a failed `test` or a missing path is a PatchError 422 with the words of Kubernetes'
 * library, a malformed patch 400. Like there, negative
 * indices count from the end, and replacing a field that is not there adds it.
 */
export function jsonPatch<T extends JsonObject>(object: T, operations: unknown): T {
  const parsed = parseOperations(operations);
  const document = { root: structuredClone(object) as unknown, copiedBytes: 0, movedItems: 0 };
  for (const operation of parsed) applyOperation(document, operation);
  if (!isJsonObject(document.root)) throw refused('the patched document is not an object');
  return document.root as T;
}

function refused(message: string): PatchError {
  return new PatchError(422, message);
}

function parseOperations(operations: unknown): readonly Operation[] {
  if (!Array.isArray(operations)) {
    throw new PatchError(
      400,
      'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
    );
  }
  if (operations.length > MAX_OPERATIONS) {
    throw new PatchError(
      413,
      `The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${operations.length}`,
    );
  }
  return operations.map((operation: unknown) => {
    if (!isJsonObject(operation))
      throw new PatchError(400, 'error decoding patch: an operation is not an object');
    const { op, path, from, value } = operation;
    if (typeof path !== 'string') throw refused('operation missing path field: missing value');
    return {
      op: typeof op === 'string' ? op : 'unknown',
      path,
      value,
      hasValue: 'value' in operation,
      ...(typeof from === 'string' ? { from } : {}),
    };
  });
}

interface Document {
  root: unknown;
  copiedBytes: number;
  movedItems: number;
}

function applyOperation(document: Document, operation: Operation): void {
  switch (operation.op) {
    case 'add':
      return add(document, 'add', operation.path, valueOf(operation));
    case 'remove':
      return void remove(document, operation.path);
    case 'replace':
      return replace(document, operation.path, valueOf(operation));
    case 'move': {
      const from = fromOf(operation, 'move');
      const value = read(document, from, 'move');
      remove(document, from);
      return add(document, 'move', operation.path, value);
    }
    case 'copy': {
      const value = read(document, fromOf(operation, 'copy'), 'copy');
      document.copiedBytes += JSON.stringify(value ?? null).length;
      if (document.copiedBytes > MAX_COPIED_BYTES) {
        throw refused(
          `Unable to copy, the accumulated size increase of copy is ${document.copiedBytes}, exceeding the limit ${MAX_COPIED_BYTES}`,
        );
      }
      return add(document, 'copy', operation.path, structuredClone(value));
    }
    case 'test':
      return test(document, operation);
    default:
      throw refused(`Unexpected kind: ${operation.op}`);
  }
}

function valueOf(operation: Operation): unknown {
  if (!operation.hasValue) throw refused('operation, missing value field: missing value');
  return structuredClone(operation.value);
}

function fromOf(operation: Operation, word: string): string {
  if (operation.from === undefined) {
    throw refused(`${word} operation failed to decode from: operation, missing from field: missing value`);
  }
  return operation.from;
}

/** The container that a pointer's last step names a place in. */
function locate(document: Document, path: string): { container: Container; key: string } | undefined {
  const steps = pointerSteps(path);
  const key = steps?.at(-1);
  if (steps === undefined || key === undefined) return undefined;
  let here: unknown = document.root;
  for (const step of steps.slice(0, -1)) here = child(here, step);
  return Array.isArray(here) || isJsonObject(here) ? { container: here as Container, key } : undefined;
}

function child(container: unknown, step: string): unknown {
  if (Array.isArray(container)) return container[index(container, step, 0) ?? -1];
  return isJsonObject(container) && Object.hasOwn(container, step) ? container[step] : undefined;
}

/** Index that a step names; undefined outside the list (which may be `room` longer than it is). */
function index(list: readonly unknown[], step: string, room: number): number | undefined {
  if (!/^-?\d+$/.test(step)) return undefined;
  const number = Number(step);
  const at = number < 0 ? list.length + room + number : number;
  return at >= 0 && at < list.length + room ? at : undefined;
}

function has(container: Container, key: string): boolean {
  return Array.isArray(container) ? index(container, key, 0) !== undefined : Object.hasOwn(container, key);
}

function add(document: Document, word: string, path: string, value: unknown): void {
  if (path === '') {
    document.root = value;
    return;
  }
  const place = locate(document, path);
  if (place === undefined) {
    const destination = word === 'add' ? '' : 'destination ';
    throw refused(
      `${word} operation does not apply: doc is missing ${destination}path: ${word === 'add' ? JSON.stringify(path) : path}: missing value`,
    );
  }
  const { container, key } = place;
  if (!Array.isArray(container)) {
    define(container, key, value);
    return;
  }
  const at = key === '-' ? container.length : index(container, key, 1);
  if (at === undefined) throw badIndex(word, path, key);
  countMoved(document, container.length - at);
  container.splice(at, 0, value);
}

function countMoved(document: Document, items: number): void {
  document.movedItems += items;
  if (document.movedItems <= MAX_MOVED_ITEMS) return;
  throw new PatchError(
    413,
    `The JSON patch inserts into and removes from lists so long that more than ${MAX_MOVED_ITEMS} items would move; replace the list, or send fewer operations at a time`,
  );
}

function badIndex(word: string, path: string, key: string): PatchError {
  return refused(
    `error in ${word} for path: '${path}': Unable to access invalid index: ${key}: invalid index referenced`,
  );
}

function remove(document: Document, path: string): void {
  const place = locate(document, path);
  if (place === undefined) {
    throw refused(
      `remove operation does not apply: doc is missing path: ${JSON.stringify(path)}: missing value`,
    );
  }
  const { container, key } = place;
  if (Array.isArray(container)) {
    const at = index(container, key, 0);
    if (at === undefined) throw badIndex('remove', path, key);
    countMoved(document, container.length - at);
    container.splice(at, 1);
    return;
  }
  if (!Object.hasOwn(container, key)) {
    throw refused(
      `error in remove for path: '${path}': Unable to remove nonexistent key: ${key}: missing value`,
    );
  }
  delete container[key];
}

function replace(document: Document, path: string, value: unknown): void {
  if (path === '') {
    document.root = value;
    return;
  }
  const place = locate(document, path);
  if (place === undefined) {
    throw refused(`replace operation does not apply: doc is missing path: ${path}: missing value`);
  }
  const { container, key } = place;
  if (Array.isArray(container) && !has(container, key)) {
    throw refused(`replace operation does not apply: doc is missing key: ${path}: missing value`);
  }
  if (Array.isArray(container)) container[index(container, key, 0) ?? 0] = value;
  else define(container, key, value);
}

function read(document: Document, path: string, word: string): unknown {
  const place = locate(document, path);
  if (place === undefined || !has(place.container, place.key)) {
    throw refused(`${word} operation does not apply: doc is missing from path: ${path}: missing value`);
  }
  return child(place.container, place.key);
}

function test(document: Document, operation: Operation): void {
  const { path, value } = operation;
  const place = locate(document, path);
  if (path !== '' && place === undefined) {
    throw refused(`test operation does not apply: is missing path: ${path}: missing value`);
  }
  const found = place === undefined ? document.root : child(place.container, place.key);
  if (!jsonEquals(found ?? null, value ?? null)) {
    throw refused(`testing value ${path} failed: test failed`);
  }
}

/** Also for a field that is called `__proto__`. */
function define(container: MutableJsonObject, key: string, value: unknown): void {
  Object.defineProperty(container, key, { value, enumerable: true, configurable: true, writable: true });
}
