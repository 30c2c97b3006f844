import { isJsonObject, type JsonObject } from '#lib/json';

/** A file whose default export holds components that pages show. */
export interface UiEntry {
  /** Name by which pages ask for them: as a rule that of a graph. */
  readonly name: string;
  /** File as written, relative to the folder. */
  readonly file: string;
}

/** `ui` and `ui_config` of `langgraph.json`. */
export interface UiSettings {
  readonly entries: readonly UiEntry[];
  /** Packages that the page brings, beside React and the SDK. */
  readonly shared: readonly string[];
}

interface Judged {
  readonly problems: readonly string[];
}

const SOURCE_FILE = /\.([cm]?[jt]s|[jt]sx)$/;
/** A part of a path that no client and no proxy takes for another. */
const NAME = /^(?!\.{1,2}$)[^/\\?#%\p{Cc}]{1,255}$/u;
const PACKAGE = /^(@[\w~-][\w.~-]*\/)?[\w~-][\w.~-]*(\/[\w.~-]+)*$/;

function problemOf(name: string, file: unknown): string | undefined {
  if (!NAME.test(name))
    return `${JSON.stringify(name)} cannot be part of an address; use letters, digits and -`;
  if (typeof file !== 'string' || !SOURCE_FILE.test(file))
    return `${name} must be a TypeScript or JavaScript file, for example "./src/ui.tsx"`;
  const isOutside = file.startsWith('/') || file.split('/').includes('..');
  return isOutside ? `${name}: ${file} must lie in the folder; name it as in "./src/ui.tsx"` : undefined;
}

/** Reads `ui`, components by name. `problems` lists the errors. */
export function parseUi(given: unknown): Pick<UiSettings, 'entries'> & Judged {
  if (given === undefined || given === null) return { entries: [], problems: [] };
  if (!isJsonObject(given))
    return { entries: [], problems: ['it must be an object such as {"agent": "./src/ui.tsx"}'] };
  const entries = Object.entries(given);
  return {
    entries: entries.flatMap(([name, file]) => (typeof file === 'string' ? [{ name, file }] : [])),
    problems: entries.flatMap(([name, file]) => problemOf(name, file) ?? []),
  };
}

/** Reads `ui_config`. */
export function parseUiConfig(given: unknown): Pick<UiSettings, 'shared'> & Judged {
  if (given === undefined || given === null) return { shared: [], problems: [] };
  if (!isJsonObject(given))
    return { shared: [], problems: ['it must be an object such as {"shared": ["recharts"]}'] };
  const { shared = [], ...others } = given;
  const problems = Object.keys(others).map((key) => `${key} is not a known setting; remove it`);
  const isNames =
    Array.isArray(shared) && shared.every((one) => typeof one === 'string' && PACKAGE.test(one));
  if (!isNames) return { shared: [], problems: [...problems, 'shared must be a list of names of packages'] };
  return { shared: shared as string[], problems };
}

/** Reads both settings, which have been judged before. */
export function parseUiSettings({ ui, ui_config: config }: JsonObject): UiSettings {
  return { entries: parseUi(ui).entries, shared: parseUiConfig(config).shared };
}

/** Parts of the settings that have no effect. */
export function uiNotes({ ui, ui_config: config }: JsonObject): readonly string[] {
  const isIdle = parseUi(ui).entries.length === 0 && (config ?? undefined) !== undefined;
  return isIdle ? ['"ui_config" of langgraph.json has no effect: "ui" names no components'] : [];
}
