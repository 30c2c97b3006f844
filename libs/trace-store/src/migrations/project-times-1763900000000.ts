import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What clients say of a project beside its name: when it began and ended, and how long its traces are to be kept. */
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
