import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Facts that clients send of a project beside its name: its begin and end, and the time to keep its traces.
 */
export class ProjectTimes1763900000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE projects ADD COLUMN start_time timestamptz, ADD COLUMN end_time timestamptz,
        ADD COLUMN trace_tier text`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE projects DROP start_time, DROP end_time, DROP trace_tier');
  }
}
