import type { Migration } from '#lib/postgres';

/** Prompts with their versions and the tags of these. */
export const promptTables: Migration = {
  version: 51,
  name: 'prompts',
  sql: `
CREATE TABLE prompts (
  tenant_id    uuid NOT NULL,
  id           uuid NOT NULL,
  name         text NOT NULL,
  description  text NOT NULL,
  readme       text NOT NULL,
  tags         text[] NOT NULL,
  is_archived  boolean NOT NULL DEFAULT false,
  is_liked     boolean NOT NULL DEFAULT false,
  -- also the number of the newest commit
  commits      integer NOT NULL DEFAULT 0,
  -- all manifests
  stored_bytes bigint NOT NULL DEFAULT 0,
  created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, id),
  UNIQUE (tenant_id, name)
);
CREATE TABLE prompt_commits (
  tenant_id   uuid NOT NULL,
  prompt_id   uuid NOT NULL,
  -- from 1
  number      integer NOT NULL,
  id          uuid NOT NULL,
  -- SHA-256 of the parent's hash and the manifest, as hexadecimal digits
  hash        text COLLATE "C" NOT NULL,
  -- null for the first
  parent      integer,
  -- JSON
  manifest    text NOT NULL,
  description text,
  created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, prompt_id, number),
  UNIQUE (tenant_id, prompt_id, hash),
  UNIQUE (tenant_id, id),
  FOREIGN KEY (tenant_id, prompt_id) REFERENCES prompts ON DELETE CASCADE
);
CREATE TABLE prompt_commit_tags (
  tenant_id  uuid NOT NULL,
  prompt_id  uuid NOT NULL,
  name       text NOT NULL,
  number     integer NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, prompt_id, name),
  FOREIGN KEY (tenant_id, prompt_id) REFERENCES prompts ON DELETE CASCADE,
  FOREIGN KEY (tenant_id, prompt_id, number) REFERENCES prompt_commits ON DELETE CASCADE
);
`,
};
