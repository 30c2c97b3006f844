import { openConnection, sqlState } from '#lib/postgres';
import { holdSealedFiles } from '#lib/trace-store';

const NO_DATABASE = '3D000';

/**
 * Keeps the platform from deleting files of sealed days while a backup is taken.
 * @returns a function that ends it; it ends with this process as well
 */
export async function holdFiles(superuserUri: string): Promise<() => Promise<void>> {
  const uri = new URL(superuserUri);
  uri.pathname = '/agentplane';
  try {
    const session = await openConnection({ uri: uri.href, applicationName: 'agentplane backup' });
    // it breaks when the platform stops, which deletes nothing then
    session.on('error', () => undefined);
    await holdSealedFiles(session);
    return () => session.end();
  } catch (error) {
    // a platform that never completed its first start
    if (sqlState(error) === NO_DATABASE) return () => Promise.resolve();
    throw error;
  }
}
