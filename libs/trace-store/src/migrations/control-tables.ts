import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The first tables of the control side. TypeORM orders migrations by the number at the end of their names. */
class ControlTables1763700000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE projects (
        id          uuid CONSTRAINT projects_pkey PRIMARY KEY DEFAULT gen_random_uuid(),
        tenant_id   uuid NOT NULL,
        name        text NOT NULL,
        description text,
        extra       text,
        created_at  timestamptz NOT NULL DEFAULT now(),
        updated_at  timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT projects_tenant_id_name_key UNIQUE (tenant_id, name)
      )`);
    await runner.query(`
      CREATE TABLE api_keys (
        id           text CONSTRAINT api_keys_pkey PRIMARY KEY,
        tenant_id    uuid NOT NULL,
        name         text NOT NULL,
        scope        text NOT NULL CONSTRAINT api_keys_scope_check
          CHECK (scope IN ('workspace', 'deployment', 'ingest', 'read', 'invoke')),
        deployment   text,
        project      text,
        hash         bytea NOT NULL,
        created_at   timestamptz NOT NULL DEFAULT now(),
        expires_at   timestamptz,
        last_used_at timestamptz,
        revoked_at   timestamptz,
        CONSTRAINT api_keys_deployment_check CHECK (
          (scope = 'deployment') = (deployment IS NOT NULL) AND (scope = 'deployment') = (project IS NOT NULL))
      )`);
    await runner.query('CREATE INDEX api_keys_tenant ON api_keys (tenant_id, created_at)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE api_keys');
    await runner.query('DROP TABLE projects');
  }
}

/** Callers may choose the id of a project: one that another tenant has must be as free as any. */
class ProjectIdsPerTenant1763800000000 implements MigrationInterface {
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

/**
 * Facts that clients send of a project beside its name: its begin and end, and the time to keep its traces.
 */
class ProjectTimes1763900000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE projects ADD COLUMN start_time timestamptz, ADD COLUMN end_time timestamptz,
        ADD COLUMN trace_tier text`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE projects DROP start_time, DROP end_time, DROP trace_tier');
  }
}

/**
 * Columns that make a project an experiment: the dataset whose examples it was run on, and its number among
 * those of the dataset.
 */
class ProjectDatasets1764000000000 implements MigrationInterface {
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

/** Migrations of the tables that TypeORM owns, in their order. It finds them by their names. */
export const CONTROL_MIGRATIONS = [
  ControlTables1763700000000,
  ProjectIdsPerTenant1763800000000,
  ProjectTimes1763900000000,
  ProjectDatasets1764000000000,
];
