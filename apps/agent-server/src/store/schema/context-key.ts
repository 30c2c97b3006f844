/** A secret of the deployment, from which ids of threads are made that no caller can foresee. */
export const CONTEXT_KEY = `
CREATE TABLE agentplane.context_key (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  key text NOT NULL
);
INSERT INTO agentplane.context_key (key) VALUES (gen_random_uuid()::text || gen_random_uuid()::text);
`;
