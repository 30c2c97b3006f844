/**
 * Items of the store. The order of namespaces is that of bytes: the items under a prefix are then a range of
 * the key.
 */
export const ITEMS = `
CREATE TABLE agentplane.store_items (
  item_id bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  namespace text[] COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  value jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- how long it lives after a write, or after a read that asks for it; null: it never expires
  ttl_minutes double precision,
  expires_at timestamptz,
  PRIMARY KEY (namespace, key)
);
CREATE INDEX store_items_by_expiry ON agentplane.store_items (expires_at) WHERE expires_at IS NOT NULL;

-- Unit vectors: their product is their cosine. Numbers of a model do not compress.
CREATE TABLE agentplane.store_vectors (
  item_id bigint NOT NULL REFERENCES agentplane.store_items (item_id) ON DELETE CASCADE,
  field text NOT NULL,
  dims int NOT NULL,
  vector real[] NOT NULL,
  PRIMARY KEY (item_id, field)
);
ALTER TABLE agentplane.store_vectors ALTER COLUMN vector SET STORAGE EXTERNAL;
`;
