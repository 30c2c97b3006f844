import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Callers may choose the id of a project: one that another tenant has must be as free as any. */
export class ProjectIdsPerTenant1763800000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE projects DROP CONSTRAINT projects_pkey,
        ADD CONSTRAINT projects_pkey PRIMARY KEY (tenant_id, id)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE projects DROP CONSTRAINT projects_pkey, ADD CONSTRAINT projects_pkey PRIMARY KEY (id)`);
  }
}
