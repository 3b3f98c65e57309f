#!/usr/bin/env bash
# A drill in a CI: two real Kafka clusters as local processes, a failover for the exercise, JUnit XML and a page.
# Ends with 1 when a limit of the flow is passed. Needs Python 3.10 or newer with venv, and a package index.
#
#   drill.sh [DIR] [OPTION OF mm2 drill ...]
#
# DIR (reports) gets drill.xml, drill.html, drill.json and drills.jsonl, to which each drill adds a line.
# MM2      an installed mm2; without it the package is installed into .mm2-venv.
# PACKAGE  what is installed then.
# FLOW     a flow's file whose clusters are ${MM2_SOURCE} and ${MM2_TARGET}; without it the one that mm2 init writes.
set -euo pipefail
reports=${1:-reports}
shift || true
mkdir -p "$reports"
if [ -z "${MM2:-}" ]; then
  python3 -m venv .mm2-venv
  .mm2-venv/bin/python -m pip install --quiet "${PACKAGE:-airflow-provider-mm2[drill,local]}"
  MM2=.mm2-venv/bin/mm2
fi
work=$(mktemp -d)
stop() {
  "$MM2" local down --dir "$work/pair" || true
  rm -rf "$work"
}
trap stop EXIT
pair=$("$MM2" local up --dir "$work/pair" --json)
address() { python3 -c "import json, sys; print(json.loads(sys.argv[1])[sys.argv[2]]['bootstrap.servers'])" "$pair" "$1"; }
MM2_SOURCE=$(address source) MM2_TARGET=$(address target)
export MM2_SOURCE MM2_TARGET
"$MM2" init "$work/dags"
"$MM2" drill "${FLOW:-$work/dags/flows/local.yaml}" --json-out "$reports/drill.json" --junit "$reports/drill.xml" \
  --html "$reports/drill.html" --history "$reports/drills.jsonl" "$@"
