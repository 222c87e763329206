-- The store of many tenants. Every key begins with a tenant, and a policy shows a connection only
-- the rows of the tenant it works for.
CREATE SCHEMA IF NOT EXISTS context_compression;
SET LOCAL search_path = context_compression, public;

-- One row for each connection: the mark of its last write. It tells a writer whose connection was
-- lost at COMMIT whether that was made. Nothing of a tenant stands here.
CREATE TABLE writes (mark uuid PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());

CREATE TABLE schema_version (version integer NOT NULL);
INSERT INTO schema_version VALUES (0);
-- Whoever may write to all tables of the schema must not change which version they have.
-- A temporary table that is called as one of the catalog must not stand in for it.
CREATE FUNCTION refuse_others() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT pg_has_role((SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN
        RAISE EXCEPTION 'only the owner of % changes it', TG_TABLE_NAME
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER changed_by_owner BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON schema_version
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_others();

CREATE TABLE sessions (
    tenant text NOT NULL,
    id text COLLATE "C" NOT NULL,
    no bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    created_at text,
    last bigint NOT NULL DEFAULT 0,           -- the number of its newest row
    event_bytes bigint NOT NULL DEFAULT 0,
    other_bytes bigint NOT NULL DEFAULT 0,    -- of its ledger and its originals
    written bigint NOT NULL DEFAULT 0,        -- when an event was added, in ns since 1970
    PRIMARY KEY (tenant, id)
);
CREATE INDEX sessions_by_time ON sessions (tenant, written DESC, id) WHERE event_bytes > 0;

-- Events and ledgers. Rows are only added.
CREATE TABLE rows (
    tenant text NOT NULL,
    session bigint NOT NULL REFERENCES sessions (no),
    kind smallint NOT NULL,                   -- 0 an event, 1 a row of the ledger
    n bigint NOT NULL,
    body bytea NOT NULL,                      -- a JSON object with its checksum
    PRIMARY KEY (session, kind, n)
);

-- Archived messages, each once for a tenant, whichever sessions archived it.
CREATE TABLE contents (
    tenant text NOT NULL,
    digest bytea NOT NULL,                    -- SHA-256 of the JSON, or a keyed hash of it
    no bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    uses bigint NOT NULL,                     -- in how many places of archives it stands
    size bigint NOT NULL,                     -- bytes, for whoever looks at what grows
    body bytea,                               -- NULL if it is kept as an object
    PRIMARY KEY (tenant, digest)
);
-- Objects that are about to be written. What stays here was written for a row that was never committed.
CREATE TABLE pending (
    tenant text NOT NULL,
    digest bytea NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, digest)
);
CREATE TABLE archives (
    tenant text NOT NULL,
    session bigint NOT NULL REFERENCES sessions (no),
    name text COLLATE "C" NOT NULL,
    contents bigint[] NOT NULL,               -- numbers of contents, in the order of the messages
    PRIMARY KEY (session, name)
);

CREATE TABLE refs (
    tenant text NOT NULL,
    session bigint NOT NULL REFERENCES sessions (no),
    n bigint NOT NULL,                        -- the event that created it
    place integer NOT NULL,                   -- among the refs of the event
    ref text COLLATE "C" NOT NULL,
    is_message boolean NOT NULL,
    sha256 text,                              -- of its original, or a keyed hash of that
    entry bytea NOT NULL,
    PRIMARY KEY (session, n, place)
);
CREATE INDEX refs_by_ref ON refs (tenant, ref);

CREATE TABLE summaries (
    tenant text NOT NULL,
    no bigint GENERATED ALWAYS AS IDENTITY,
    session text COLLATE "C",
    body bytea NOT NULL,
    PRIMARY KEY (tenant, no)
);
CREATE INDEX summaries_by_session ON summaries (tenant, session, no);

CREATE TABLE documents (
    tenant text NOT NULL,
    name text COLLATE "C" NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (tenant, name)
);

-- What a search can find. A shelf holds the texts that a tenant archived within a time, and its
-- number begins each of their lexemes.
CREATE TABLE shelves (
    tenant text NOT NULL,
    no bigint GENERATED ALWAYS AS IDENTITY,
    texts bigint NOT NULL DEFAULT 0,
    words bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, no)
);
CREATE TABLE texts (
    tenant text NOT NULL,
    no bigint GENERATED ALWAYS AS IDENTITY,
    session bigint NOT NULL REFERENCES sessions (no),
    shelf bigint NOT NULL,
    ref text COLLATE "C" NOT NULL,
    n bigint NOT NULL,                        -- the row of `refs` that created it, with `place`
    place integer NOT NULL,
    length integer NOT NULL,                  -- in words
    message text COLLATE "C" NOT NULL,        -- the ref of the message that it is in; '' for none
    at integer,                               -- the place of that message in the conversation
    failed boolean NOT NULL,
    by_us boolean NOT NULL,
    tool text COLLATE "C" NOT NULL,
    call bytea NOT NULL,                      -- JSON: the tool, and the beginning of the arguments
    beside bigint[] NOT NULL,                 -- event and position of the messages beside it
    PRIMARY KEY (tenant, no),
    UNIQUE (session, ref)
);
CREATE INDEX texts_by_message ON texts (session, message);
CREATE INDEX texts_by_tool ON texts (tenant, tool);

-- Their words. The server uses an index of words only where no policy hides rows. So policies do not
-- bind the owner of this table, as whom `texts_with` reads it, for one tenant.
CREATE TABLE lexemes (
    tenant text NOT NULL,
    no bigint PRIMARY KEY,
    session bigint NOT NULL,
    shelf bigint NOT NULL,
    words tsvector NOT NULL
);
CREATE INDEX lexemes_by_session ON lexemes (session, no);
-- Each search also reads the words that are not yet sorted in, so these are kept few.
CREATE INDEX lexemes_by_word ON lexemes USING gin (words) WITH (gin_pending_list_limit = 256);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows of % are only added or deleted', TG_TABLE_NAME;
END $$;
CREATE TRIGGER only_added BEFORE UPDATE ON rows
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER only_added BEFORE UPDATE ON archives
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'sessions', 'rows', 'contents', 'pending', 'archives', 'refs', 'summaries', 'documents', 'shelves',
        'texts', 'lexemes'
    ] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY of_tenant ON %I USING '
            '(tenant = current_setting(''context_compression.tenant'', true))', name
        );
    END LOOP;
END $$;

ALTER TABLE lexemes NO FORCE ROW LEVEL SECURITY;
CREATE FUNCTION texts_with(queries tsquery[], most integer) RETURNS TABLE (at bigint, no bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = context_compression, pg_temp AS $$
    SELECT q.at, found.no FROM unnest(queries) WITH ORDINALITY AS q (query, at)
    CROSS JOIN LATERAL (
        -- the bound stands behind the lookup, or the planner would hope to meet as many without it
        WITH held AS MATERIALIZED (SELECT l.no, l.tenant FROM lexemes l WHERE l.words @@ q.query)
        SELECT held.no FROM held
        WHERE held.tenant = current_setting('context_compression.tenant', true) LIMIT most
    ) AS found
$$;
