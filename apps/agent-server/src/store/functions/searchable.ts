/** json may hold text that jsonb refuses: for searching, it is left out. A newer migration performs this text again. */
export const SEARCHABLE = `
CREATE OR REPLACE FUNCTION agentplane.searchable(value json) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN value::jsonb;
EXCEPTION WHEN data_exception THEN
  BEGIN
    RETURN regexp_replace(value::text, '(?<!\\\\)((?:\\\\\\\\)*)\\\\u(?:0000|d[89a-f][0-9a-f][0-9a-f])', '\\1', 'g')::jsonb;
  EXCEPTION WHEN data_exception THEN
    RETURN NULL;
  END;
END $$;
`;
