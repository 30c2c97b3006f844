import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { loadConfig, optionalText, text } from '#lib/config';
import { readJson, writeJson } from '#lib/data-folder';

const FIELDS = {
  configHome: optionalText('XDG_CONFIG_HOME', 'folder of the user’s settings; ~/.config when missing'),
  home: text('HOME', 'the user’s home folder', { fallback: '/' }),
};

/** A platform that the user talks to by name. */
export interface Context {
  readonly name: string;
  /** Address of the REST interface. */
  readonly address: string;
  readonly key: string;
  /** Region in which it runs, for people: any word. */
  readonly region?: string;
  /** Path of certificates, PEM, that its address is trusted by beside the well-known ones. */
  readonly caFile?: string;
  /** Path of a kubeconfig; without one only commands of the REST interface can be used. */
  readonly kubeconfig?: string;
}

/** `contexts.json` in the user's settings, readable by the user alone: it holds keys. */
export interface ContextFile {
  /** Name of the context that is used when none is named; absent: the data folder. */
  readonly current?: string;
  readonly contexts: readonly Context[];
}

export function contextFilePath(): string {
  const { configHome, home } = loadConfig(FIELDS);
  return join(configHome ?? join(home, '.config'), 'agentplane', 'contexts.json');
}

export function readContexts(): ContextFile {
  return readJson<ContextFile>(contextFilePath()) ?? { contexts: [] };
}

export function writeContexts(file: ContextFile): void {
  const path = contextFilePath();
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeJson(path, file);
}
