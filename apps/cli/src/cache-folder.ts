import { homedir } from 'node:os';
import { join } from 'node:path';
import { loadConfig, optionalText } from '#lib/config';

const CACHE_HOME = optionalText(
  'XDG_CACHE_HOME',
  'folder of copies that can be made again; ~/.cache when missing',
);

/** The person's folder of copies that can be made again. */
export function cacheFolder(): string {
  const { cacheHome = join(homedir(), '.cache') } = loadConfig({ cacheHome: CACHE_HOME });
  return join(cacheHome, 'agentplane');
}
