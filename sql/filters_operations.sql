-- Every function that a filter program computes, every comparison and cast, on extreme values of both sides: what comes
-- out for each pair of values is what core says, true or not, or an error.
\set ECHO none
\i sql/include/compare.sql
\set ECHO all
CREATE TABLE extremes (type regtype, value text);
INSERT INTO extremes VALUES ('bool', 'true'), ('bool', 'false');
INSERT INTO extremes SELECT 'int2', v FROM unnest(ARRAY['-32768', '-32767', '-1', '0', '1', '3', '181', '32767']) AS v;
INSERT INTO extremes SELECT 'int4', v FROM unnest(ARRAY['-2147483648', '-2147483647', '-32769', '-1', '0', '1', '3', '46341', '2147483647']) AS v;
INSERT INTO extremes SELECT 'int8', v FROM unnest(ARRAY['-9223372036854775808', '-9223372036854775807', '-2147483649', '-1', '0', '1', '3', '3037000500', '4294967295', '9223372036854775807']) AS v;
INSERT INTO extremes SELECT 'oid', v FROM unnest(ARRAY['0', '1', '32768', '2147483648', '4294934528', '4294967295']) AS v;
INSERT INTO extremes SELECT 'float4', v FROM unnest(ARRAY['-Infinity', '-3.4028235e38', '-1', '-1.4e-45', '-0', '0', '1e-38', '0.1', '3', '3.4028235e38', 'Infinity', 'NaN']) AS v;
INSERT INTO extremes SELECT 'float8', v FROM unnest(ARRAY['-Infinity', '-1.7976931348623157e308', '-1', '-5e-324', '-0', '0', '0.1', '3', '3.5e38', '9.2e18', '1.7976931348623157e308', 'Infinity', 'NaN']) AS v;
INSERT INTO extremes SELECT 'date', v FROM unnest(ARRAY['-infinity', '4714-11-24 BC', '1999-12-31', '2000-01-01', '294276-12-31', '294277-01-01', '5874897-12-31', 'infinity']) AS v;
INSERT INTO extremes SELECT 'time', v FROM unnest(ARRAY['00:00', '00:00:00.000001', '12:00', '24:00']) AS v;
INSERT INTO extremes SELECT t, v FROM unnest(ARRAY['-infinity', '4714-11-24 00:00 BC', '1999-12-31 23:59:59.999999', '2000-01-01', '287600-01-01', '294276-12-31 23:59:59.999999', 'infinity']) AS v, unnest(ARRAY['timestamp', 'timestamptz']::regtype[]) AS t;
CREATE TABLE known AS SELECT DISTINCT type FROM extremes;
INSERT INTO extremes SELECT type, NULL FROM known;
SET timezone = 'UTC';

-- The conditions call one function each, where it has one by its operator, on a value of l and a value of r.
CREATE TABLE conditions AS
SELECT row_number() OVER (ORDER BY l::regtype::text, r::regtype::text, condition COLLATE "C") AS id, l::regtype, r::regtype, condition
FROM (
    SELECT format('l.v %s r.v', oprname), oprleft, oprright FROM pg_operator
    WHERE oprname IN ('=', '<>', '<', '<=', '>', '>=') AND oprleft IN (TABLE known) AND oprright IN (TABLE known)
  UNION
    -- comparisons with a cast
    SELECT format('l.v %s r.v', op), a::regtype, b::regtype
    FROM (VALUES ('oid', 'int2'), ('oid', 'int4'), ('oid', 'int8'), ('int2', 'oid'), ('int4', 'oid'), ('int8', 'oid'), ('int4', 'float4'), ('float8', 'int8'), ('int2', 'float8')) AS pairs (a, b), unnest(ARRAY['=', '<>', '<', '>=']) AS op
  UNION
    -- arithmetic with two operands
    SELECT format('(l.v %s r.v) > %s', oprname, CASE WHEN oprresult IN ('date'::regtype, 'timestamp'::regtype, 'timestamptz'::regtype) THEN '''2000-01-01''' WHEN oprresult = 'interval'::regtype THEN '''1 hour''' ELSE '0' END), oprleft, oprright
    FROM pg_operator
    WHERE oprname IN ('+', '-', '*', '/', '%') AND oprleft IN (TABLE known) AND oprright IN (TABLE known)
  UNION
    SELECT 'mod(l.v, r.v) <> 1', t, t FROM unnest(ARRAY['int2', 'int4', 'int8']::regtype[]) AS t
  UNION
    SELECT format('(l.v %s interval %L) < r.v', op, length), t, t
    FROM unnest(ARRAY['timestamp', 'timestamptz']::regtype[]) AS t, unnest(ARRAY['+', '-']) AS op, unnest(ARRAY['0', '1 second', '1 day', '-25 hours', '1 month', '-290000 years']) AS length
  UNION
    SELECT format('(l.v - r.v) <= interval %L', length), t, t
    FROM unnest(ARRAY['time', 'timestamp', 'timestamptz']::regtype[]) AS t, unnest(ARRAY['0', '-1 day 1 second', '1 month', '-290000 years']) AS length
  UNION
    -- and with one
    SELECT format('%s > 1', call), t, t FROM unnest(ARRAY['int2', 'int4', 'int8', 'float4', 'float8']::regtype[]) AS t, unnest(ARRAY['(- (l.v - r.v))', '(@ (l.v - r.v))', 'abs(l.v - r.v)', '(+ (l.v - r.v))', '(- l.v - r.v)', '(r.v - abs(l.v))']) AS call
  UNION
    -- casts of a value, and of what is computed
    SELECT format('l.v::%s %s r.v', casttarget::regtype, op), castsource, casttarget
    FROM pg_cast, unnest(ARRAY['=', '<']) AS op WHERE castsource IN (TABLE known) AND casttarget IN (TABLE known)
  UNION
    SELECT format('(l.v + r.v)::%s > ''0''::%1$s', casttarget::regtype), castsource, castsource
    FROM pg_cast WHERE castsource = ANY (ARRAY['int2', 'int4', 'int8', 'float4', 'float8']::regtype[]) AND casttarget IN (TABLE known)
  UNION
    SELECT 'l.v::oid::int8 + r.v::oid::int8 > 4294967295', a::regtype, b::regtype FROM (VALUES ('int2', 'oid'), ('int2', 'int2'), ('int4', 'int2'), ('oid', 'int4')) AS pairs (a, b)
) AS c (condition, l, r);

-- What core says of a pair.
CREATE FUNCTION core_outcome(condition text, l regtype, l_value text, r regtype, r_value text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    outcome boolean;
BEGIN
    EXECUTE format('SELECT %s FROM (SELECT $1::%s AS v OFFSET 0) AS l, (SELECT $2::%s AS v OFFSET 0) AS r', condition, l, r) INTO outcome USING l_value, r_value;
    RETURN coalesce(outcome, false);
EXCEPTION WHEN data_exception OR feature_not_supported THEN
    RETURN SQLERRM;
END $$;
CREATE TABLE outcomes (pair bigint, a text, b text, core text);
CREATE FUNCTION note_outcomes(condition text, l regtype, r regtype) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('gpujoin.enabled', 'off', true);
    EXECUTE format('INSERT INTO outcomes SELECT row_number() OVER (), a.value, b.value, coalesce((SELECT %s FROM (SELECT a.value::%s AS v OFFSET 0) AS l, (SELECT b.value::%s AS v OFFSET 0) AS r), false)
        FROM extremes a, extremes b WHERE a.type = $1 AND b.type = $2', condition, l, r) USING l, r;
    PERFORM set_config('gpujoin.enabled', 'on', true);
EXCEPTION WHEN data_exception OR feature_not_supported THEN  -- for some pair
    INSERT INTO outcomes SELECT row_number() OVER (), a.value, b.value, core_outcome(condition, l, a.value, r, b.value) FROM extremes a, extremes b WHERE a.type = l AND b.type = r;
END $$;
-- Pairs are joined by their number, and the condition is an alternative to one that is never true, lest it be a term.
-- Those that raise no error are looked at together, of the others the first and the last by themselves. alone: trues that
-- a nested loop over all values lacks, where no pair raises an error.
CREATE FUNCTION check_condition(condition text, l regtype, r regtype, OUT in_filter boolean, OUT pairs bigint, OUT trues bigint, OUT errors bigint, OUT wrong bigint, OUT alone bigint) LANGUAGE plpgsql AS $$
DECLARE
    query text := format('SELECT l.core FROM (SELECT pair, core, a::%s AS v FROM outcomes WHERE %%1$s OFFSET 0) AS l JOIN (SELECT pair, b::%s AS v FROM outcomes WHERE %%1$s OFFSET 0) AS r ON l.pair = r.pair AND (%s OR l.pair = -r.pair)', l, r, replace(condition, '%', '%%'));
    calm text := format(query, 'core IN (''true'', ''false'')');
    failing record;
BEGIN
    DELETE FROM outcomes;
    PERFORM note_outcomes(condition, l, r);
    SELECT count(*), count(*) FILTER (WHERE core = 'true'), count(*) FILTER (WHERE core NOT IN ('true', 'false')) INTO pairs, trues, errors FROM outcomes;
    PERFORM set_config('gpujoin.force', 'on', true);
    SELECT bool_or(line LIKE '%Filter Cond%') INTO in_filter FROM plan_of(calm) AS line;
    EXECUTE format('SELECT %s - count(*) FILTER (WHERE core = ''true'') + count(*) FILTER (WHERE core = ''false'') FROM (%s) AS q', trues, calm) INTO wrong;
    IF errors = 0 THEN
        EXECUTE format('SELECT %s - count(*) FROM (SELECT value::%s AS v, 1 AS pair FROM extremes WHERE type = $1 OFFSET 0) AS l JOIN (SELECT value::%s AS v, 1 AS pair FROM extremes WHERE type = $2 OFFSET 0) AS r ON %s OR l.pair = -r.pair', trues, l, r, condition) INTO alone USING l, r;
    END IF;
    FOR failing IN SELECT * FROM outcomes WHERE pair IN (SELECT unnest(ARRAY[min(pair), max(pair)]) FROM outcomes WHERE core NOT IN ('true', 'false')) LOOP
        BEGIN
            EXECUTE format(query, 'pair = ' || failing.pair);
            wrong := wrong + 1;
        EXCEPTION WHEN data_exception OR feature_not_supported THEN
            wrong := wrong + (SQLERRM <> failing.core)::integer;
        END;
    END LOOP;
    PERFORM set_config('gpujoin.force', 'off', true);
END $$;
CREATE TABLE found AS SELECT c.*, f.* FROM conditions c, check_condition(c.condition, c.l, c.r) AS f;
-- Nothing but what core says.
SELECT l, r, condition, pairs, trues, errors, wrong, alone FROM found WHERE wrong > 0 OR alone <> 0 ORDER BY id;
-- What was tested; and what the engine does not decide.
SELECT l, count(*), sum(pairs) AS pairs, bool_or(trues > 0) AS trues, bool_or(errors > 0) AS errors, count(*) FILTER (WHERE in_filter) AS in_filter FROM found GROUP BY l ORDER BY l::text;
SELECT l, r, string_agg(condition, ', ' ORDER BY condition COLLATE "C") FROM found WHERE NOT in_filter GROUP BY l, r ORDER BY l::text, r::text;
RESET timezone;
DROP TABLE extremes, known, conditions, found, outcomes;
DROP FUNCTION core_outcome, note_outcomes, check_condition;
