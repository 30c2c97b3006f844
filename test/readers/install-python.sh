#!/usr/bin/env bash
# Installs the Python programs that read exports in the tests into a folder of their own, once for each list of them.
# Usage: install-python.sh FOLDER [LIST]. Afterwards FOLDER/bin/python has them. LIST is requirements.txt,
# requirements-catalogue.txt, whose newer s3fs does not go with the AWS CLI, or
# requirements-long.txt, which has ClickHouse (chdb, 530 MB) too.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
exec bash "$here/../support/install-python.sh" "$here/${2:-requirements.txt}" "$1"
