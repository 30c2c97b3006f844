/**
 * Size of rows before they are read. Calls of webhooks that servers of an earlier version noted have no
 * length, and count as large.
 */
export const LARGE_ROWS = `
-- of the input and the values of the run, which are the most of what is sent
ALTER TABLE agentplane.webhooks ADD COLUMN bytes bigint;

-- What reading a JSON text takes: its bytes, and more for each value, of which there are about as many as commas.
CREATE FUNCTION agentplane.reading_cost(value text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(17 * octet_length(value)::bigint - 16 * octet_length(replace(value, ',', ''))::bigint, 0);
$$;
`;
