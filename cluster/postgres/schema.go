package postgres

import "strings"

// Schema gives the statements that make the schema, for those who let nobody else make one.
func Schema(name string) string {
	return strings.ReplaceAll(`
CREATE SCHEMA IF NOT EXISTS $S;
CREATE TABLE IF NOT EXISTS $S.lock (
	name    text PRIMARY KEY,
	token   bigint NOT NULL,   -- of the last claim
	nonce   text,              -- of the claim; NULL is free
	session text,              -- that renews it
	expires timestamptz NOT NULL,
	record  text NOT NULL,     -- of the claim, or what it has left
	last    text NOT NULL      -- what the claim before has left
);
CREATE INDEX IF NOT EXISTS lock_session ON $S.lock (session) WHERE session IS NOT NULL;
`+lifeTable, "$S", quote(name))
}

// quote writes an identifier.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// statements are those of a schema.
type statements struct{ claim, look, renew, verify, release, revoke, list, raise, unclaim, stick, note string }

func newStatements(schema string) statements {
	in := func(s string) string { return strings.ReplaceAll(s, "$S", quote(schema)) }
	return statements{
		// A look without a lock comes first: who is refused writes nothing, not even the lock of the row. Then the row
		// decides, in its newest version. Two that ask for several do so in one order, so neither waits for the other.
		claim: in(`
WITH made AS (
	INSERT INTO $S.lock AS l (name, token, nonce, session, expires, record, last)
	SELECT a.name, 1, a.nonce, $4::text, clock_timestamp() + $5::bigint * interval '1 millisecond', a.record, ''
	FROM unnest($1::text[], $2::text[], $3::text[]) AS a (name, nonce, record)
	WHERE NOT EXISTS (SELECT FROM $S.lock t WHERE t.name = a.name AND t.nonce IS NOT NULL AND t.expires > clock_timestamp())
	ORDER BY a.name
	ON CONFLICT (name) DO UPDATE SET token = l.token + 1, nonce = excluded.nonce, session = excluded.session,
		expires = clock_timestamp() + $5::bigint * interval '1 millisecond', record = excluded.record, last = l.record
	WHERE l.nonce IS NULL OR l.expires <= clock_timestamp()
	RETURNING name, token, last
) SELECT name, token, last FROM made`),
		look: in(`
SELECT name, token, coalesce(nonce, ''), coalesce(session, ''), record, last, nonce IS NOT NULL AND expires > clock_timestamp(),
	(extract(epoch FROM expires - clock_timestamp()) * 1000)::bigint
FROM $S.lock WHERE name = ANY($1::text[])`),
		list: in(`
SELECT name, token, record, last, nonce IS NOT NULL AND expires > clock_timestamp(),
	(extract(epoch FROM expires - clock_timestamp()) * 1000)::bigint
FROM $S.lock WHERE $1 = '' OR name = $1 ORDER BY name`),
		raise: in(`
INSERT INTO $S.lock AS l (name, token, expires, record, last) VALUES ($1, $2, clock_timestamp(), '', '')
ON CONFLICT (name) DO UPDATE SET token = greatest(l.token, excluded.token)
WHERE l.nonce IS NULL OR l.expires <= clock_timestamp() RETURNING token`),
		unclaim: in(`
WITH freed AS (
	UPDATE $S.lock SET nonce = NULL, session = NULL, record = $4
	WHERE name = $1 AND token = $2 AND record = $3 AND nonce IS NOT NULL AND expires > clock_timestamp() RETURNING name
), told AS (SELECT pg_notify($5, name) FROM freed) SELECT count(*) FROM told`),
		// Nobody renews it, and its time is beyond everybody's. What lies beside it is last, which nobody else reads meanwhile.
		stick: in(`
WITH made AS (
	INSERT INTO $S.lock AS l (name, token, nonce, session, expires, record, last)
	SELECT $1::text, 1, $2::text, NULL, clock_timestamp() + interval '100 years', $3::text, ''
	WHERE NOT EXISTS (SELECT FROM $S.lock WHERE name = $1 AND nonce IS NOT NULL AND expires > clock_timestamp())
	ON CONFLICT (name) DO UPDATE SET token = l.token + 1, nonce = excluded.nonce, session = NULL,
		expires = excluded.expires, record = excluded.record, last = l.record
	WHERE l.nonce IS NULL OR l.expires <= clock_timestamp()
	RETURNING token, last
) SELECT token, last FROM made`),
		note: in(`
UPDATE $S.lock SET last = $5
WHERE name = $1 AND token = $2 AND nonce = $3 AND session IS NULL AND last = $4 RETURNING token`),
		// What has run out is not brought back.
		renew: in(`
UPDATE $S.lock SET expires = clock_timestamp() + $2::bigint * interval '1 millisecond'
WHERE session = $1 AND nonce IS NOT NULL AND expires > clock_timestamp() RETURNING nonce`),
		verify: in(`
SELECT nonce, token FROM $S.lock WHERE session = $1 AND nonce IS NOT NULL AND expires > clock_timestamp()`),
		release: in(`
WITH freed AS (
	UPDATE $S.lock SET nonce = NULL, session = NULL, record = $5
	WHERE name = $1 AND nonce = $2 AND session = $3 AND ($4::bigint = 0 OR token = $4) RETURNING name
) SELECT pg_notify($6, name) FROM freed`),
		revoke: in(`
WITH freed AS (
	UPDATE $S.lock SET nonce = NULL, session = NULL WHERE session = $1 RETURNING name
) SELECT pg_notify($2, name) FROM freed`),
	}
}
