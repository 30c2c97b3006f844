/**
 * Lifetimes of threads. The table is separate from the threads, whose rows change with every run: an index
 * over the time of their last change would cost each of these changes. A row is looked at when the thread
 * could have expired at the earliest.
 */
export const THREAD_TTLS = `
CREATE TABLE agentplane.thread_ttls (
  thread_id uuid PRIMARY KEY REFERENCES agentplane.threads ON DELETE CASCADE,
  strategy text NOT NULL CHECK (strategy IN ('delete', 'keep_latest')),
  -- since the thread was last changed
  minutes float8 NOT NULL,
  check_at timestamptz NOT NULL
);
CREATE INDEX thread_ttls_due ON agentplane.thread_ttls (check_at);

-- Of threads made from now on that ask for none; the revision that started last writes it.
CREATE TABLE agentplane.thread_ttl_default (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  strategy text NOT NULL CHECK (strategy IN ('delete', 'keep_latest')),
  minutes float8 NOT NULL
);

CREATE FUNCTION agentplane.give_default_ttl() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO agentplane.thread_ttls (thread_id, strategy, minutes, check_at)
    SELECT NEW.thread_id, d.strategy, d.minutes, clock_timestamp() + d.minutes * interval '1 minute'
    FROM agentplane.thread_ttl_default d ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER threads_default_ttl AFTER INSERT ON agentplane.threads
  FOR EACH ROW EXECUTE FUNCTION agentplane.give_default_ttl();
`;
