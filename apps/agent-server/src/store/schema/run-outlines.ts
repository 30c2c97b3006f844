/**
 * Summary of a run that is read without its input, and the time its attempts have worked. Neither is filled
 * in for rows that exist: the first is made of the input when it is missing, as in rows of servers of an
 * earlier version.
 */
export const RUN_OUTLINES = `
ALTER TABLE agentplane.runs ADD COLUMN outline jsonb, ADD COLUMN worked_ms float8 NOT NULL DEFAULT 0;

CREATE FUNCTION agentplane.outline_of(kwargs json) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  given jsonb := agentplane.searchable(kwargs);
BEGIN
  RETURN jsonb_strip_nulls(jsonb_build_object('bytes', octet_length(kwargs::text),
    'caller', given -> 'caller' -> 'langgraph_auth_user_id', 'webhook', given -> 'webhook',
    'streamed', given -> 'streamed', 'resumable', given -> 'resumable', 'protocol', given -> 'protocol'));
END $$;
`;
