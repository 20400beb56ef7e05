-- The ledger suite's form of PostgreSQL (14 or newer): two tables, one function over arrays, one for a single transfer.
--
-- `@UNLOGGED@` becomes UNLOGGED for the durability tier `memory`, else nothing.
--
-- Order of locks, the same on every path, so that no deadlock can arise: first the accounts, in the order of their
-- ids; then, where a batch misses a hold, the table of transfers; then the unique indexes of the transfers, again in the
-- order of ids. Whoever has stored a transfer wants no further account.
--
-- No CHECK constraints: PostgreSQL parses a constraint's stored text anew in every statement (25 us of a single's
-- 100 us of CPU). Each path tests what they would; ledger_violations() is the audit, off the clock.

CREATE @UNLOGGED@ TABLE ledger_bench.ledger_accounts (
    id uuid NOT NULL,
    debits_pending bigint NOT NULL DEFAULT 0,
    debits_posted bigint NOT NULL DEFAULT 0,
    credits_pending bigint NOT NULL DEFAULT 0,
    credits_posted bigint NOT NULL DEFAULT 0,
    -- TigerBeetle's flag debits_must_not_exceed_credits.
    limited boolean NOT NULL DEFAULT false,
    CONSTRAINT ledger_accounts_key PRIMARY KEY (id)
    -- Room for a second version of each row in its page: updates then touch no index.
) WITH (fillfactor = 45);
ALTER TABLE ledger_bench.ledger_accounts SET (autovacuum_analyze_threshold = 2000000000);

-- Transfers, stored for good, and the ids that failed in a way that is remembered (kind 4: they take
-- their place in the same unique index, so an id cannot both fail and succeed, whoever comes first).
-- kind: 0 plain, 1 pending, 2 post, 3 void, 4 failed id. Post and void hold the accounts of the pending
-- transfer and the actual amount.
CREATE @UNLOGGED@ TABLE ledger_bench.ledger_transfers (
    id uuid NOT NULL,
    debit_account_id uuid,
    credit_account_id uuid,
    amount bigint,
    -- The order in time: rises along every account; unique by construction (a block of a sequence per call).
    at bigint NOT NULL,
    kind smallint NOT NULL,
    pending_id uuid,
    CONSTRAINT ledger_transfers_key PRIMARY KEY (id)
);
-- A pending transfer is posted or voided once.
CREATE UNIQUE INDEX ledger_transfers_pending_key ON ledger_bench.ledger_transfers (pending_id)
    WHERE pending_id IS NOT NULL;
CREATE SEQUENCE ledger_bench.ledger_calls;

-- What foreign keys would guard: accounts stay, transfers never change. A statement's trigger costs
-- an INSERT nothing.
CREATE FUNCTION ledger_bench.ledger_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of % is refused', TG_OP, TG_TABLE_NAME;
END $$;
CREATE TRIGGER ledger_accounts_stay BEFORE DELETE OR TRUNCATE ON ledger_bench.ledger_accounts
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_bench.ledger_refuse();
CREATE TRIGGER ledger_accounts_keep_id BEFORE UPDATE OF id, limited ON ledger_bench.ledger_accounts
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_bench.ledger_refuse();
CREATE TRIGGER ledger_transfers_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_bench.ledger_transfers
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_bench.ledger_refuse();

-- How many rows break what constraints would promise, or what the transfers make of the accounts: 0.
CREATE FUNCTION ledger_bench.ledger_violations() RETURNS bigint LANGUAGE sql STABLE AS $$
    WITH stored AS (SELECT * FROM ledger_bench.ledger_transfers WHERE kind <> 4),
    ended AS (
        SELECT e.*, h.kind AS h_kind, h.debit_account_id AS h_debit, h.credit_account_id AS h_credit, h.amount AS held
          FROM stored e LEFT JOIN stored h ON h.id = e.pending_id WHERE e.kind IN (2, 3)),
    change AS (
        SELECT debit_account_id AS id, amount * (kind = 1)::int AS dp, amount * (kind IN (0, 2))::int AS dpo, 0 AS cp, 0 AS cpo
          FROM stored
        UNION ALL SELECT credit_account_id, 0, 0, amount * (kind = 1)::int, amount * (kind IN (0, 2))::int FROM stored
        UNION ALL SELECT h_debit, - held, 0, 0, 0 FROM ended
        UNION ALL SELECT h_credit, 0, 0, - held, 0 FROM ended),
    sums AS (SELECT id, sum(dp) AS dp, sum(dpo) AS dpo, sum(cp) AS cp, sum(cpo) AS cpo FROM change GROUP BY id)
    SELECT (SELECT count(*) FROM ledger_bench.ledger_accounts
             WHERE least(debits_pending, debits_posted, credits_pending, credits_posted) < 0
                OR debits_pending::numeric + debits_posted > 9223372036854775807
                OR credits_pending::numeric + credits_posted > 9223372036854775807
                OR limited AND debits_pending::numeric + debits_posted > credits_posted)
         + (SELECT count(*) FROM ledger_bench.ledger_accounts a FULL JOIN sums s ON s.id = a.id
             WHERE (a.debits_pending, a.debits_posted, a.credits_pending, a.credits_posted)
                   IS DISTINCT FROM (coalesce(s.dp, 0)::bigint, coalesce(s.dpo, 0)::bigint,
                                     coalesce(s.cp, 0)::bigint, coalesce(s.cpo, 0)::bigint))
         + (SELECT count(*) FROM ended
             WHERE (h_kind = 1 AND h_debit = debit_account_id AND h_credit = credit_account_id AND amount <= held) IS NOT TRUE)
         + (SELECT count(*) FROM ledger_bench.ledger_transfers
             WHERE CASE WHEN kind BETWEEN 0 AND 3
                   THEN (amount >= 0 AND debit_account_id <> credit_account_id) IS NOT TRUE
                        OR (kind >= 2) <> (pending_id IS NOT NULL)
                   ELSE kind <> 4 OR num_nonnulls(debit_account_id, credit_account_id, amount, pending_id) > 0 END)
$$;

-- sum(bigint) goes through numeric; this one stays in bigint and fails if it would leave it.
CREATE AGGREGATE ledger_bench.ledger_sum(bigint) (SFUNC = int8pl, STYPE = bigint, INITCOND = '0', PARALLEL = SAFE);

-- Every transfer by itself, in order, in memory; one INSERT and one UPDATE at the end.
-- Takes whatever the quick paths leave. Returns pairs (index from 0, result), and (-1, retries) if any.
-- Joins are hashed: lookups in the tables go by "= ANY (array)" through their indexes.
CREATE FUNCTION ledger_bench.ledger_exact(
    ids uuid[], kinds smallint[], debits uuid[], credits uuid[], amounts bigint[], pendings uuid[]
) RETURNS int[] LANGUAGE plpgsql
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_nestloop = off SET enable_mergejoin = off SET enable_seqscan = off
-- ledger_batch, which calls it, has these off.
SET enable_hashjoin = on SET enable_bitmapscan = on SET enable_sort = on
AS $$
DECLARE
    most CONSTANT bigint := 9223372036854775807;
    zero CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
    n CONSTANT int := cardinality(ids);
    retries int := 0;
    -- The accounts, by their place in account_ids.
    account_ids uuid[]; dp bigint[]; dpo bigint[]; cp bigint[]; cpo bigint[]; limits boolean[];
    -- By the first index with that id: null unknown, -1 failed, else the index that is stored.
    state int[];
    -- By the first index with that pending id: how it ended in this batch (2 post, 3 void).
    ends smallint[];
    -- What is to be stored.
    w int; w_index int[]; w_kind smallint[]; w_debit uuid[]; w_credit uuid[]; w_amount bigint[];
    -- By index: the accounts' places and the actual amount, of what was stored.
    debit_at int[]; credit_at int[]; actual bigint[];
    failures int[]; code int; j int; d int; c int; held bigint; amt bigint; ended smallint; base bigint; total bigint;
    r record;
BEGIN
    IF cardinality(kinds) = 0 THEN kinds := array_fill(0::smallint, ARRAY[n]); END IF;
    IF cardinality(pendings) = 0 THEN pendings := array_fill(zero, ARRAY[n]); END IF;
    pendings := array_replace(pendings, NULL, zero);
    LOOP
        BEGIN
            SELECT array_agg(a.id), array_agg(a.debits_pending), array_agg(a.debits_posted),
                   array_agg(a.credits_pending), array_agg(a.credits_posted), array_agg(a.limited)
              INTO account_ids, dp, dpo, cp, cpo, limits
              FROM (SELECT * FROM ledger_bench.ledger_accounts
                     WHERE id = ANY (ARRAY(
                        SELECT unnest(debits) UNION SELECT unnest(credits)
                        UNION SELECT debit_account_id FROM ledger_bench.ledger_transfers WHERE id = ANY (pendings)
                        UNION SELECT credit_account_id FROM ledger_bench.ledger_transfers WHERE id = ANY (pendings)))
                     ORDER BY id FOR NO KEY UPDATE) a;
            -- "Not found" must stay true until the commit: two batches that each store what the other one
            -- misses cannot both be right. One transfer alone needs no guard.
            IF n > 1 AND EXISTS (SELECT unnest(pendings) EXCEPT SELECT zero
                                 EXCEPT SELECT id FROM ledger_bench.ledger_transfers WHERE id = ANY (pendings)) THEN
                LOCK TABLE ledger_bench.ledger_transfers IN SHARE ROW EXCLUSIVE MODE;
            END IF;
            state := array_fill(NULL::int, ARRAY[n]);
            ends := array_fill(NULL::smallint, ARRAY[n]);
            debit_at := state; credit_at := state; actual := array_fill(NULL::bigint, ARRAY[n]);
            w := 0; w_index := '{}'; w_kind := '{}'; w_debit := '{}'; w_credit := '{}'; w_amount := '{}';
            failures := '{}';
            -- A new snapshot: all that happened to these accounts before they were locked.
            FOR r IN
                WITH request AS (
                    SELECT * FROM unnest(ids, kinds, debits, credits, amounts, pendings)
                        WITH ORDINALITY AS r(id, kind, debit, credit, amount, pending, i)),
                account AS (SELECT * FROM unnest(account_ids) WITH ORDINALITY AS a(id, i)),
                first AS (SELECT id, min(i)::int AS i FROM request GROUP BY id),
                pending_first AS (SELECT pending AS id, min(i)::int AS i FROM request WHERE kind >= 2 GROUP BY pending),
                known AS (SELECT * FROM ledger_bench.ledger_transfers WHERE id = ANY (ids)),
                hold AS (SELECT * FROM ledger_bench.ledger_transfers WHERE id = ANY (pendings) AND kind < 4),
                ending AS (SELECT pending_id AS id, kind FROM ledger_bench.ledger_transfers WHERE pending_id = ANY (pendings))
                SELECT request.i::int AS i, request.id, request.kind, request.debit, request.credit, request.amount, request.pending,
                       first.i AS id_first, pending_first.i AS pending_first, held_first.i AS held_first,
                       known.kind AS known_kind, known.debit_account_id AS known_debit,
                       known.credit_account_id AS known_credit, known.amount AS known_amount,
                       known.pending_id AS known_pending,
                       d.i::int AS d, c.i::int AS c,
                       hold.kind AS hold_kind, hold.amount AS hold_amount, hd.i::int AS hold_d, hc.i::int AS hold_c,
                       ending.kind AS ended
                  FROM request
                  JOIN first ON first.id = request.id
                  LEFT JOIN pending_first ON pending_first.id = request.pending
                  LEFT JOIN first held_first ON held_first.id = request.pending
                  LEFT JOIN known ON known.id = request.id
                  LEFT JOIN account d ON d.id = request.debit
                  LEFT JOIN account c ON c.id = request.credit
                  LEFT JOIN hold ON hold.id = request.pending
                  LEFT JOIN account hd ON hd.id = hold.debit_account_id
                  LEFT JOIN account hc ON hc.id = hold.credit_account_id
                  LEFT JOIN ending ON ending.id = request.pending
                 ORDER BY request.i
            LOOP
                code := 0;
                j := state[r.id_first];
                IF r.known_kind IS NOT NULL OR j > 0 THEN
                    IF j > 0 THEN
                        r.known_kind := kinds[j]; r.known_pending := pendings[j];
                        r.known_debit := debits[j]; r.known_credit := credits[j]; r.known_amount := actual[j];
                    END IF;
                    code := CASE
                        WHEN r.known_kind = 4 THEN 68
                        WHEN r.known_kind <> r.kind THEN 36
                        WHEN coalesce(r.known_pending, zero) <> r.pending THEN 40
                        WHEN r.kind < 2 AND r.known_debit <> r.debit THEN 37
                        WHEN r.kind < 2 AND r.known_credit <> r.credit THEN 38
                        WHEN r.known_amount <> r.amount AND NOT (r.kind = 3 AND r.amount = 0) THEN 39
                        ELSE 46 END;
                ELSIF j = -1 THEN
                    code := 68;
                ELSIF r.kind < 2 THEN
                    d := r.d; c := r.c; amt := r.amount;
                    IF r.debit = r.credit THEN code := 12;
                    ELSIF d IS NULL THEN code := 21;
                    ELSIF c IS NULL THEN code := 22;
                    ELSIF r.kind = 1 AND amt > most - dp[d] THEN code := 47;
                    ELSIF r.kind = 1 AND amt > most - cp[c] THEN code := 48;
                    ELSIF amt > most - dpo[d] THEN code := 49;
                    ELSIF amt > most - cpo[c] THEN code := 50;
                    ELSIF amt > most - dp[d] - dpo[d] THEN code := 51;
                    ELSIF amt > most - cp[c] - cpo[c] THEN code := 52;
                    ELSIF limits[d] AND dp[d] + dpo[d] + amt > cpo[d] THEN code := 54;
                    ELSIF r.kind = 0 THEN
                        dpo[d] := dpo[d] + amt;
                        cpo[c] := cpo[c] + amt;
                    ELSE
                        dp[d] := dp[d] + amt;
                        cp[c] := cp[c] + amt;
                    END IF;
                ELSE
                    j := state[r.held_first];
                    IF j > 0 THEN
                        r.hold_kind := kinds[j]; held := actual[j]; d := debit_at[j]; c := credit_at[j];
                    ELSE
                        held := r.hold_amount; d := r.hold_d; c := r.hold_c;
                        IF r.hold_kind IS NOT NULL AND (d IS NULL OR c IS NULL) THEN
                            -- Stored after we looked for the accounts to lock.
                            RAISE SQLSTATE 'LB001';
                        END IF;
                    END IF;
                    ended := coalesce(r.ended, ends[r.pending_first]);
                    amt := CASE WHEN r.kind = 3 AND r.amount = 0 THEN held ELSE r.amount END;
                    IF r.pending = zero THEN code := 14;
                    ELSIF r.pending = r.id THEN code := 16;
                    ELSIF r.hold_kind IS NULL THEN code := 25;
                    ELSIF r.hold_kind <> 1 THEN code := 26;
                    ELSIF amt > held THEN code := 31;
                    ELSIF r.kind = 3 AND amt < held THEN code := 32;
                    ELSIF ended = 2 THEN code := 33;
                    ELSIF ended = 3 THEN code := 34;
                    ELSE
                        dp[d] := dp[d] - held;
                        cp[c] := cp[c] - held;
                        IF r.kind = 2 THEN
                            dpo[d] := dpo[d] + amt;
                            cpo[c] := cpo[c] + amt;
                        END IF;
                        ends[r.pending_first] := r.kind;
                    END IF;
                END IF;
                IF code = 0 THEN
                    state[r.id_first] := r.i;
                    debit_at[r.i] := d; credit_at[r.i] := c; actual[r.i] := amt;
                    w := w + 1;
                    w_index[w] := r.i; w_kind[w] := r.kind; w_debit[w] := account_ids[d];
                    w_credit[w] := account_ids[c]; w_amount[w] := amt;
                ELSE
                    failures := failures || (r.i - 1) || code;
                    IF code IN (21, 22, 25, 54) THEN
                        state[r.id_first] := -1;
                        w := w + 1;
                        w_index[w] := r.i; w_kind[w] := 4; w_debit[w] := NULL; w_credit[w] := NULL; w_amount[w] := NULL;
                    END IF;
                END IF;
            END LOOP;
            IF w > 0 THEN
                UPDATE ledger_bench.ledger_accounts a
                   SET debits_pending = s.dp, debits_posted = s.dpo, credits_pending = s.cp, credits_posted = s.cpo
                  FROM unnest(account_ids, dp, dpo, cp, cpo) AS s(id, dp, dpo, cp, cpo)
                 WHERE a.id = ANY (account_ids) AND a.id = s.id
                   AND (a.debits_pending <> s.dp OR a.debits_posted <> s.dpo
                        OR a.credits_pending <> s.cp OR a.credits_posted <> s.cpo);
                base := nextval('ledger_bench.ledger_calls') * 8192;
                INSERT INTO ledger_bench.ledger_transfers (id, debit_account_id, credit_account_id, amount, at, kind, pending_id)
                SELECT ids[s.i], s.debit, s.credit, s.amount, base + s.i, s.kind,
                       CASE WHEN s.kind IN (2, 3) THEN pendings[s.i] END
                  FROM unnest(w_index, w_kind, w_debit, w_credit, w_amount) AS s(i, kind, debit, credit, amount)
                 ORDER BY 1;
            ELSE
                -- Nothing to store, but what was found may not be on disk yet (ledger_one_early): wait for that.
                PERFORM pg_logical_emit_message(true, 'ledger_bench', '');
            END IF;
            IF retries > 0 THEN failures := failures || -1 || retries; END IF;
            RETURN failures;
        EXCEPTION
            -- Someone stored one of the ids, or one of the pending transfers, since we looked.
            WHEN unique_violation OR SQLSTATE 'LB001' THEN
                retries := retries + 1;
                IF retries > 100 THEN RAISE; END IF;
        END;
    END LOOP;
END $$;

-- Many at once, as sets. The condition on an account is stricter than needed (all debits of the batch must
-- fit the credits of before it), so every prefix of the batch is valid too; whatever does not fit, is known
-- already or breaks a check is undone and left to ledger_exact.
-- Joins are nested loops over sorted ids, so that rows are locked in the order of their ids.
CREATE FUNCTION ledger_bench.ledger_batch(
    ids uuid[], kinds smallint[], debits uuid[], credits uuid[], amounts bigint[], pendings uuid[]
) RETURNS int[] LANGUAGE plpgsql
SET jit = off SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_bitmapscan = off
-- The generic plan thinks of 10 rows: sums are hashed first, so that fewer are sorted.
SET enable_sort = off
AS $$
DECLARE
    n CONSTANT int := cardinality(ids);
    plain CONSTANT boolean := cardinality(kinds) = 0;
    base bigint;
    sides bigint; stored bigint;
    -- What the request says, with the accounts and amounts of the transfers that posts and voids end.
    r_debits uuid[]; r_credits uuid[]; r_amounts bigint[];
    r_pendings uuid[]; helds bigint[];
BEGIN
    BEGIN
        IF plain THEN
            WITH changed AS (
                UPDATE ledger_bench.ledger_accounts a
                   SET debits_posted = a.debits_posted + s.debit, credits_posted = a.credits_posted + s.credit
                  FROM (SELECT id, count(*) AS sides, ledger_bench.ledger_sum(debit) AS debit,
                               ledger_bench.ledger_sum(credit) AS credit
                          FROM (SELECT unnest(debits) AS id, unnest(amounts) AS debit, 0::bigint AS credit
                                UNION ALL SELECT unnest(credits), 0, unnest(amounts)) side
                         GROUP BY id ORDER BY id) s
                 WHERE a.id = s.id
                   -- A sum that leaves bigint is an error, so also an end to this path.
                   AND a.debits_pending + a.debits_posted + s.debit >= 0
                   AND a.credits_pending + a.credits_posted + s.credit >= 0
                   AND (NOT a.limited OR a.debits_pending + a.debits_posted + s.debit <= a.credits_posted)
                RETURNING s.sides)
            SELECT ledger_bench.ledger_sum(changed.sides) INTO sides FROM changed;
            IF sides IS DISTINCT FROM 2 * n THEN RAISE SQLSTATE 'LB002'; END IF;
            base := nextval('ledger_bench.ledger_calls') * 8192;
            INSERT INTO ledger_bench.ledger_transfers (id, debit_account_id, credit_account_id, amount, at, kind)
            SELECT id, debit, credit, amount, at, 0
              FROM (SELECT unnest(ids) AS id, unnest(debits) AS debit, unnest(credits) AS credit,
                           unnest(amounts) AS amount, generate_series(base + 1, base + n) AS at) r
             WHERE debit <> credit AND amount >= 0
             ORDER BY 1;
            GET DIAGNOSTICS stored = ROW_COUNT;
            IF stored < n THEN RAISE SQLSTATE 'LB002'; END IF;
            RETURN NULL;
        END IF;

        IF cardinality(pendings) = 0 THEN
            helds := array_fill(0::bigint, ARRAY[n]);
            r_pendings := array_fill(NULL::uuid, ARRAY[n]);
            r_debits := debits; r_credits := credits; r_amounts := amounts;
        ELSE
            SELECT array_agg(CASE WHEN r.kind >= 2 THEN p.debit_account_id ELSE r.debit END ORDER BY r.i),
                   array_agg(CASE WHEN r.kind >= 2 THEN p.credit_account_id ELSE r.credit END ORDER BY r.i),
                   array_agg(CASE WHEN r.kind = 3 AND r.amount = 0 THEN p.amount ELSE r.amount END ORDER BY r.i),
                   array_agg(coalesce(p.amount, 0) ORDER BY r.i),
                   array_agg(CASE WHEN r.kind >= 2 THEN r.pending END ORDER BY r.i)
              INTO r_debits, r_credits, r_amounts, helds, r_pendings
              FROM (SELECT unnest(kinds) AS kind, unnest(debits) AS debit, unnest(credits) AS credit,
                           unnest(amounts) AS amount, unnest(pendings) AS pending, generate_series(1, n) AS i) r
              LEFT JOIN ledger_bench.ledger_transfers p
                     ON p.id = r.pending AND p.kind = 1 AND r.kind >= 2
                    AND CASE WHEN r.kind = 2 THEN r.amount <= p.amount ELSE r.amount IN (0, p.amount) END;
        END IF;
        WITH changed AS (
            UPDATE ledger_bench.ledger_accounts a
               SET debits_pending = a.debits_pending + s.dp, debits_posted = a.debits_posted + s.dpo,
                   credits_pending = a.credits_pending + s.cp, credits_posted = a.credits_posted + s.cpo
              FROM (SELECT id, count(*) AS sides,
                           ledger_bench.ledger_sum(CASE WHEN is_debit THEN pending ELSE 0 END) AS dp,
                           ledger_bench.ledger_sum(CASE WHEN is_debit THEN posted ELSE 0 END) AS dpo,
                           ledger_bench.ledger_sum(CASE WHEN is_debit THEN 0 ELSE pending END) AS cp,
                           ledger_bench.ledger_sum(CASE WHEN is_debit THEN 0 ELSE posted END) AS cpo,
                           ledger_bench.ledger_sum(CASE WHEN is_debit THEN added ELSE 0 END) AS debits,
                           ledger_bench.ledger_sum(CASE WHEN is_debit THEN 0 ELSE added END) AS credits
                      FROM (SELECT CASE WHEN side = 0 THEN debit ELSE credit END AS id, side = 0 AS is_debit,
                                   CASE WHEN kind = 1 THEN amount ELSE - held END AS pending,
                                   CASE WHEN kind IN (0, 2) THEN amount ELSE 0 END AS posted,
                                   CASE WHEN kind < 2 THEN amount ELSE 0 END AS added
                              FROM (SELECT unnest(kinds) AS kind, unnest(r_debits) AS debit, unnest(r_credits) AS credit,
                                           unnest(r_amounts) AS amount, unnest(helds) AS held) r,
                                   generate_series(0, 1) AS side) m
                     GROUP BY id ORDER BY id) s
             WHERE a.id = s.id
               -- A sum that leaves bigint is an error, so also an end to this path.
               AND a.debits_pending + a.debits_posted + s.debits >= 0
               AND a.credits_pending + a.credits_posted + s.credits >= 0
               AND (NOT a.limited OR a.debits_pending + a.debits_posted + s.debits <= a.credits_posted)
            RETURNING s.sides)
        SELECT ledger_bench.ledger_sum(changed.sides) INTO sides FROM changed;
        IF sides IS DISTINCT FROM 2 * n THEN RAISE SQLSTATE 'LB002'; END IF;
        base := nextval('ledger_bench.ledger_calls') * 8192;
        INSERT INTO ledger_bench.ledger_transfers (id, debit_account_id, credit_account_id, amount, at, kind, pending_id)
        SELECT id, debit, credit, amount, at, kind, pending
          FROM (SELECT unnest(ids) AS id, unnest(r_debits) AS debit, unnest(r_credits) AS credit,
                       unnest(r_amounts) AS amount, generate_series(base + 1, base + n) AS at,
                       unnest(kinds) AS kind, unnest(r_pendings) AS pending) r
         WHERE debit <> credit AND amount >= 0
         ORDER BY 1;
        GET DIAGNOSTICS stored = ROW_COUNT;
        IF stored < n THEN RAISE SQLSTATE 'LB002'; END IF;
        RETURN NULL;
    EXCEPTION
        WHEN unique_violation OR not_null_violation OR numeric_value_out_of_range
             OR SQLSTATE 'LB002' THEN
            NULL;
    END;
    RETURN ledger_bench.ledger_exact(ids, kinds, debits, credits, amounts, pendings);
END $$;

-- One transfer, its two rows changed in the order of their ids. What does not fit is changed back (nobody else can
-- have seen it) and left to ledger_exact: no savepoint, whose own transaction id would be written to the log.
-- Returns as ledger_transfer does; (-2, 1) says that it had to wait (2 ms or more) for others who want the same
-- accounts, or for the CPU: the next calls should be ledger_one_early's. To tell the one from the other (by holding the
-- row against the statement's own view of it) made 64 clients a seventh slower on 10,000 accounts. Advisory locks as a queue before the rows cost 3 us, and on a
-- busy machine 30 % of the throughput of hot accounts: such a lock is handed to a sleeper, a row lock to who runs.
-- Two statements that find one row each need no setting to be run in that order; one statement for both rows is
-- 3 % faster, but locks them as the planner likes.
CREATE FUNCTION ledger_bench.ledger_one(
    id uuid, kind smallint, debit uuid, credit uuid, amount bigint, of_pending uuid
) RETURNS int[] LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    most CONSTANT bigint := 9223372036854775807;
    d uuid := debit; c uuid := credit; amt bigint := amount; hold_id uuid;
    -- What is added to both accounts; what must fit beneath the limit.
    pending bigint := 0; posted bigint := amount; added bigint := amount;
    d_done boolean := false; c_done boolean := false;
BEGIN
    IF kind = 1 THEN
        pending := amt; posted := 0;
    ELSIF kind > 1 THEN
        hold_id := of_pending;
        SELECT t.debit_account_id, t.credit_account_id, t.amount INTO d, c, pending
          FROM ledger_bench.ledger_transfers t WHERE t.id = hold_id AND t.kind = 1;
        IF kind = 3 THEN
            IF amt = 0 THEN amt := pending; END IF;
            posted := CASE WHEN amt = pending THEN 0 END;
        ELSE
            posted := CASE WHEN amt <= pending THEN amt END;
        END IF;
        pending := - pending; added := 0;
    END IF;
    IF (d <> c AND posted >= 0 AND amt >= 0) IS NOT TRUE THEN
        RETURN ledger_bench.ledger_exact(ARRAY[id], ARRAY[kind], ARRAY[debit], ARRAY[credit], ARRAY[amount], ARRAY[of_pending]);
    END IF;
    IF d < c THEN
        UPDATE ledger_bench.ledger_accounts a
           SET debits_pending = a.debits_pending + pending, debits_posted = a.debits_posted + posted
         WHERE a.id = d AND a.debits_pending >= - pending AND a.debits_pending + a.debits_posted <= most - added
           AND (NOT a.limited OR a.debits_pending + a.debits_posted + added <= a.credits_posted);
        d_done := FOUND;
    END IF;
    -- The second row only if the first one did: ledger_exact must find no lock out of order.
    IF d_done OR d > c THEN
        UPDATE ledger_bench.ledger_accounts a
           SET credits_pending = a.credits_pending + pending, credits_posted = a.credits_posted + posted
         WHERE a.id = c AND a.credits_pending >= - pending AND a.credits_pending + a.credits_posted <= most - added;
        c_done := FOUND;
    END IF;
    IF c_done AND d > c THEN
        UPDATE ledger_bench.ledger_accounts a
           SET debits_pending = a.debits_pending + pending, debits_posted = a.debits_posted + posted
         WHERE a.id = d AND a.debits_pending >= - pending AND a.debits_pending + a.debits_posted <= most - added
           AND (NOT a.limited OR a.debits_pending + a.debits_posted + added <= a.credits_posted);
        d_done := FOUND;
    END IF;
    IF d_done AND c_done THEN
        INSERT INTO ledger_bench.ledger_transfers (id, debit_account_id, credit_account_id, amount, at, kind, pending_id)
        VALUES (id, d, c, amt, nextval('ledger_bench.ledger_calls') * 8192 + 1, kind, hold_id)
        ON CONFLICT DO NOTHING;
        IF FOUND THEN RETURN CASE WHEN clock_timestamp() > statement_timestamp() + '2 ms'::interval THEN ARRAY[-2, 1] END; END IF;
    END IF;
    IF c_done THEN
        UPDATE ledger_bench.ledger_accounts a
           SET credits_pending = a.credits_pending - pending, credits_posted = a.credits_posted - posted WHERE a.id = c;
    END IF;
    IF d_done THEN
        UPDATE ledger_bench.ledger_accounts a
           SET debits_pending = a.debits_pending - pending, debits_posted = a.debits_posted - posted WHERE a.id = d;
    END IF;
    RETURN ledger_bench.ledger_exact(ARRAY[id], ARRAY[kind], ARRAY[debit], ARRAY[credit], ARRAY[amount], ARRAY[of_pending]);
END $$;

-- The same, with its accounts free again before the flush: commits without waiting for the disk, then makes a commit
-- of its own durable, which lies behind the first in the log. Durable before the reply; others may read a balance before
-- it is on disk. Faster if others wait for these accounts, else a tenth slower: for connections that ledger_one has told
-- to have waited. Not inside a transaction.
CREATE PROCEDURE ledger_bench.ledger_one_early(
    id uuid, kind smallint, debit uuid, credit uuid, amount bigint, of_pending uuid, INOUT failures int[]
) LANGUAGE plpgsql AS $$
BEGIN
    failures := ledger_bench.ledger_one(id, kind, debit, credit, amount, of_pending);
    PERFORM set_config('synchronous_commit', 'off', true);
    COMMIT;
    PERFORM pg_logical_emit_message(true, 'ledger_bench', '');
END $$;

-- 1 to 8,189 transfers, in order, one commit. Returns what failed: pairs (index from 0, TigerBeetle's result), then
-- (-1, retries) if there were any; null or empty if all is well.
-- kinds may be empty if all are plain; pendings may be empty if none is a post or void.
CREATE FUNCTION ledger_bench.ledger_transfer(
    ids uuid[], kinds smallint[], debits uuid[], credits uuid[], amounts bigint[], pendings uuid[]
) RETURNS int[] LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(ids) > 1 THEN
        RETURN ledger_bench.ledger_batch(ids, kinds, debits, credits, amounts, pendings);
    END IF;
    RETURN ledger_bench.ledger_one(ids[1], coalesce(kinds[1], 0::smallint), debits[1], credits[1], amounts[1],
                                   coalesce(pendings[1], '00000000-0000-0000-0000-000000000000'));
END $$;
