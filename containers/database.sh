#!/usr/bin/env bash
# Makes the database of the archive when the server is first started. `keeper` owns its tables, and
# the servers are `worker`. Neither is a superuser, and the worker owns nothing, because superusers and
# owners pass the wall between tenants (row-level security).
set -euo pipefail
psql --set ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --dbname postgres \
  --set keeper="$KEEPER_PASSWORD" --set worker="$WORKER_PASSWORD" <<'SQL'
CREATE ROLE keeper LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'keeper';
CREATE ROLE worker LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'worker';
CREATE DATABASE archive OWNER keeper ENCODING 'UTF8' TEMPLATE template0;
\connect archive
CREATE SCHEMA context_compression AUTHORIZATION keeper;
GRANT USAGE ON SCHEMA context_compression TO worker;
ALTER DEFAULT PRIVILEGES FOR ROLE keeper IN SCHEMA context_compression
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO worker;
ALTER DEFAULT PRIVILEGES FOR ROLE keeper IN SCHEMA context_compression
    GRANT EXECUTE ON FUNCTIONS TO worker;
SQL
