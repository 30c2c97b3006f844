#!/bin/sh
# PGDATA, POSTGRES_PASSWORD and arguments of the server, as the official image takes them.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  printf %s "$POSTGRES_PASSWORD" >/var/run/postgresql/password
  /opt/postgres/bin/initdb -D "$PGDATA" -U postgres --pwfile /var/run/postgresql/password --auth scram-sha-256 --auth-local trust >/dev/null
  rm /var/run/postgresql/password
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
fi
exec /opt/postgres/bin/postgres -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/var/run/postgresql "$@"
