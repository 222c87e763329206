#!/usr/bin/env bash
# Makes the role and the database of the archive when the database is first started. The role is no
# superuser, because a superuser passes the wall between tenants (row-level security).
set -euo pipefail
psql --set ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --dbname postgres \
  --set password="$ARCHIVE_PASSWORD" <<'SQL'
CREATE ROLE archive LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'password';
CREATE DATABASE archive OWNER archive ENCODING 'UTF8' TEMPLATE template0;
SQL
