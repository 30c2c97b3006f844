import { buildPartitionedIndex, type Migration } from '#lib/postgres';

/**
 * Roots of a thread by their time: whether a thread has a later root, and which threads a time has, is read from the index
 * alone. It replaces the one without the time.
 */
export const threadsByTime: Migration = {
  version: 41,
  name: 'roots of threads by time',
  transaction: false,
  async perform(connection) {
    await buildPartitionedIndex(connection, {
      name: 'runs_thread_time',
      table: 'runs',
      on: '(tenant_id, project_id, thread_id, start_time) WHERE is_root AND thread_id IS NOT NULL',
    });
    await connection.query('DROP INDEX IF EXISTS runs_thread');
  },
};
