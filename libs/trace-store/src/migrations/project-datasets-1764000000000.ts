import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Columns that make a project an experiment: the dataset whose examples it was run on, and its number among
 * those of the dataset.
 */
export class ProjectDatasets1764000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE projects ADD COLUMN reference_dataset_id uuid, ADD COLUMN test_run_number integer`);
    await runner.query(`
      CREATE INDEX projects_dataset ON projects (tenant_id, reference_dataset_id)
      WHERE reference_dataset_id IS NOT NULL`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX projects_dataset');
    await runner.query('ALTER TABLE projects DROP reference_dataset_id, DROP test_run_number');
  }
}
