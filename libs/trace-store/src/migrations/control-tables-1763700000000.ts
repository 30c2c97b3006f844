import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The first tables of the control side. TypeORM orders migrations by the number at the end of their names. */
export class ControlTables1763700000000 implements MigrationInterface {
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
