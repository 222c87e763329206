-- How many summaries and which documents were written, so that lost ones are told.
SET LOCAL search_path = context_compression, public;

ALTER TABLE sessions ADD COLUMN summaries bigint NOT NULL DEFAULT 0;
CREATE TABLE written (
    tenant text NOT NULL,
    document text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, document)
);

-- What is there counts. The owner of the tables does this, whom their policies bind, too.
ALTER TABLE sessions NO FORCE ROW LEVEL SECURITY;
ALTER TABLE summaries NO FORCE ROW LEVEL SECURITY;
ALTER TABLE documents NO FORCE ROW LEVEL SECURITY;
UPDATE sessions s SET summaries = (
    SELECT count(*) FROM summaries x WHERE x.tenant = s.tenant AND x.session = s.id
);
INSERT INTO written SELECT tenant, name FROM documents;
ALTER TABLE sessions FORCE ROW LEVEL SECURITY;
ALTER TABLE summaries FORCE ROW LEVEL SECURITY;
ALTER TABLE documents FORCE ROW LEVEL SECURITY;

ALTER TABLE written ENABLE ROW LEVEL SECURITY;
ALTER TABLE written FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON written USING (
    tenant = current_setting('context_compression.tenant', true)
);
